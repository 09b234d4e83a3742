/**
 * Returns the shard of a key: a whole number from 0 to `shards` - 1. Processes of different versions must compute the
 * same shard, so the algorithm never changes. It is the FNV-1a hash of the UTF-16 code units. The bits of the hash are
 * then mixed, because names often differ only in their last digit.
 */
export function shardOf(key: string, shards: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % shards;
}
