/** A shard, as one process sees it. */
export interface SeenShard {
  readonly index: number;
  /** The process that holds the shard, or that will get it next; undefined when there is none. */
  readonly owner: string | undefined;
  /** True when this process may take the shard now. */
  readonly isFree: boolean;
  /** True when another process holds the shard, and this process may request the shard from it. */
  readonly canAsk: boolean;
}

/** The next steps of a process: the shards that it takes, and those that it requests. */
export interface ShardPlan {
  readonly take: readonly number[];
  readonly ask: readonly number[];
}

/**
 * Plans the next steps of a process toward an even distribution. The process takes free shards up to its share. While
 * another process has at least two shards more than this process, this process requests a shard from the process with
 * the most shards. Each process plans for itself, from the leases that it reads. A process that has no shard and has
 * not requested one yet appears in no lease, so the other processes do not count it, and may take all free shards. The
 * process then requests shards from them.
 */
export function planShards(me: string, shards: readonly SeenShard[]): ShardPlan {
  const counts = new Map<string, number>([[me, 0]]);
  for (const { owner } of shards) if (owner !== undefined) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  const share = Math.ceil(shards.length / counts.size);
  const mine = (): number => counts.get(me) ?? 0;
  const take: number[] = [];
  for (const { index, isFree } of shards) {
    if (!isFree || mine() >= share) continue;
    take.push(index);
    counts.set(me, mine() + 1);
  }
  const ask: number[] = [];
  const open = shards.filter(({ canAsk }) => canAsk);
  for (;;) {
    const asked = richest(open, counts);
    if (asked?.owner === undefined || (counts.get(asked.owner) ?? 0) < mine() + 2) return { take, ask };
    ask.push(asked.index);
    open.splice(open.indexOf(asked), 1);
    counts.set(asked.owner, (counts.get(asked.owner) ?? 0) - 1);
    counts.set(me, mine() + 1);
  }
}

/** Returns a shard of the process that has the most shards. */
function richest(open: readonly SeenShard[], counts: ReadonlyMap<string, number>): SeenShard | undefined {
  const countOf = ({ owner = '' }: SeenShard): number => counts.get(owner) ?? 0;
  return open.reduce<SeenShard | undefined>(
    (most, each) => (most === undefined || countOf(each) > countOf(most) ? each : most),
    undefined,
  );
}
