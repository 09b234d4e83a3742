/** A shard, as one process sees it. */
export interface SeenShard {
  readonly index: number;
  /** The process that holds the shard, or to which it is about to move; undefined when there is none. */
  readonly owner: string | undefined;
  /** True when this process may take it now. */
  readonly isFree: boolean;
  /** True when another process holds it, and can be asked for it. */
  readonly canAsk: boolean;
}

/** The next steps of a process: the shards that it takes, and those that it asks for. */
export interface ShardPlan {
  readonly take: readonly number[];
  readonly ask: readonly number[];
}

/**
 * Plans the next steps of a process toward an even spread: it takes free shards up to its share, and while another
 * process has at least two more, it asks the one with the most for a shard. Each process plans for itself, from the
 * leases that it sees. Processes without a shard are not seen; they get shards by asking.
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

/** Returns a shard of the process that has the most. */
function richest(open: readonly SeenShard[], counts: ReadonlyMap<string, number>): SeenShard | undefined {
  const countOf = ({ owner = '' }: SeenShard): number => counts.get(owner) ?? 0;
  return open.reduce<SeenShard | undefined>(
    (most, each) => (most === undefined || countOf(each) > countOf(most) ? each : most),
    undefined,
  );
}
