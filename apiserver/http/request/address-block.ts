import { isIPv6 } from 'node:net';

/**
 * Returns the block of addresses that counts as one client: an IPv4 address, or the /64 network of an IPv6 address,
 * because one customer usually owns all of it. An IPv4-mapped address (`::ffff:10.0.0.1`) counts as IPv4.
 */
export function addressBlock(address: string): string {
  if (!isIPv6(address)) return address;
  const groups = groupsOf(address);
  const [, , , , , mapped = 0, high = 0, low = 0] = groups;
  if (mapped === 0xffff && groups.slice(0, 5).every((group) => group === 0)) {
    return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  }
  return `${groups.slice(0, 4).map(hexOf).join(':')}::/64`;
}

/** Returns the eight groups of an IPv6 address, whatever its notation. */
function groupsOf(address: string): readonly number[] {
  const [unzoned = ''] = address.split('%');
  const [left = '', right] = unzoned.split('::');
  const before = partsOf(left);
  const after = partsOf(right ?? '');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...zeros, ...after];
}

function partsOf(text: string): readonly number[] {
  if (text === '') return [];
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number.parseInt(part, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

function hexOf(group: number): string {
  return group.toString(16);
}
