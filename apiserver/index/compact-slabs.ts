import type { Steps } from '../turns/steps.ts';
import type { EntryTable } from './entry-table.ts';
import { StoredEntry } from './stored-entry.ts';
import type { Entry } from './entry.ts';
import { Block } from './slabs.ts';
import type { Slabs } from './slabs.ts';

/** The number of entries that are read in one step, which takes a fraction of a millisecond. */
const seenPerStep = 500;

/** The number of bytes that are copied in one step, which takes a fraction of a millisecond. */
const movedPerStep = 256 * 1024;

/**
 * A compaction stops to choose blocks when the chosen blocks have this share of all live bytes. The share is limited,
 * because a compaction copies these bytes, and the old blocks remain in memory until V8 collects garbage.
 */
const movedShare = 1 / 4;

/** The share of live bytes above which the entries of a block are not moved, because this would free too little. */
const fullShare = 0.9;

/** The entries whose records are in the memory of a kind. */
export interface SlabUsers {
  readonly table: EntryTable;
  /** Returns the former states that the change feed still has. `table` has only the current states of the objects. */
  readonly formerStates: () => Iterable<Entry>;
  /**
   * Returns all entries of the change feed: former and current states of objects. The records of the current states are
   * also in `table`; those of the former states are not.
   */
  readonly states: () => Iterable<Entry>;
}

/**
 * Moves entries out of the blocks with the most garbage, so that these blocks can be freed. Bytes that were read before
 * remain valid. Writes may happen between the steps.
 */
export function* compactSlabs(slabs: Slabs, users: SlabUsers): Steps<void> {
  slabs.seal();
  const { sparse, kept, garbage } = sparsest(yield* liveBytes(slabs, users));
  slabs.settle(kept, garbage);
  if (sparse.size === 0) return;
  yield* moveRows(slabs, users.table, sparse);
  yield* moveStates(slabs, users, sparse);
}

function* liveBytes(slabs: Slabs, { table, formerStates }: SlabUsers): Steps<ReadonlyMap<Block, number>> {
  const live = new Map<Block, number>();
  const record = new StoredEntry(noBlock, 0);
  const count = ({ block, footprint }: StoredEntry): void => {
    if (slabs.isSealed(block)) live.set(block, (live.get(block) ?? 0) + footprint);
  };
  for (let row = 0; row < table.end; row += 1) {
    if (row % seenPerStep === 0) yield;
    if (table.has(row)) count(table.read(row, record));
  }
  let seen = 0;
  for (const entry of formerStates()) {
    seen += 1;
    if (seen % seenPerStep === 0) yield;
    if (entry instanceof StoredEntry) count(entry);
  }
  return live;
}

function* moveRows(slabs: Slabs, table: EntryTable, sparse: ReadonlySet<Block>): Steps<void> {
  const record = new StoredEntry(noBlock, 0);
  let moved = 0;
  for (let row = 0; row < table.end; row += 1) {
    if (row % seenPerStep === 0) yield;
    if (!table.has(row) || !sparse.has(table.blockOf(row))) continue;
    const { block, at } = copyOf(slabs, table.read(row, record));
    table.move(row, block, at);
    moved += record.footprint;
    if (moved < movedPerStep) continue;
    moved = 0;
    yield;
  }
}

/**
 * Moves the entries of the change feed out of the blocks in `sparse`. If the table has an entry with the same key and
 * revision, the record of that entry has already been moved, and the feed's entry gets its position. Otherwise, the
 * record of the feed's entry is copied. Entries that share a record still share it afterwards.
 */
function* moveStates(slabs: Slabs, { table, states }: SlabUsers, sparse: ReadonlySet<Block>): Steps<void> {
  const places = new Map<Block, Map<number, StoredEntry>>([...sparse].map((block) => [block, new Map()]));
  let [seen, moved] = [0, 0];
  for (const entry of states()) {
    seen += 1;
    if (seen % seenPerStep === 0) yield;
    if (!(entry instanceof StoredEntry)) continue;
    const known = places.get(entry.block);
    if (known === undefined) continue;
    const place = known.get(entry.at) ?? rowOf(table, entry) ?? copyOf(slabs, entry);
    known.set(entry.at, place);
    entry.moveTo(place.block, place.at);
    moved += entry.footprint;
    if (moved < movedPerStep) continue;
    moved = 0;
    yield;
  }
}

/** Returns the record in the table for an entry; undefined when the table has no entry of the same key and revision. */
function rowOf(table: EntryTable, { key, revision }: StoredEntry): StoredEntry | undefined {
  const row = table.find(key);
  if (row < 0) return undefined;
  const record = table.read(row, new StoredEntry(noBlock, 0));
  return record.revision === revision ? record : undefined;
}

function copyOf(slabs: Slabs, { block, at, start, footprint }: StoredEntry): StoredEntry {
  // A record must begin at a multiple of four, but the object's bytes before the record may begin anywhere. So the
  // copied part begins at the position of the object's bytes, rounded down to a multiple of four.
  const from = start & ~3;
  const place = slabs.copy(block, from, start - from + footprint);
  return new StoredEntry(place.block, place.at + at - from);
}

const noBlock = new Block(0);

/**
 * Chooses the blocks to empty. The live share of a block is its live bytes divided by its size. Takes the blocks with
 * the smallest live share first, and stops when the chosen blocks have {@link movedShare} of the live bytes of all
 * blocks. Never chooses a block whose live share is above {@link fullShare}. Also returns the number of live bytes and
 * of garbage bytes in all other blocks.
 */
function sparsest(live: ReadonlyMap<Block, number>): {
  readonly sparse: ReadonlySet<Block>;
  readonly kept: number;
  readonly garbage: number;
} {
  const blocks = [...live].map(([block, bytes]) => ({ block, bytes, share: bytes / block.size }));
  let left = blocks.reduce((sum, { bytes }) => sum + bytes, 0) * movedShare;
  let [kept, garbage] = [0, 0];
  const sparse = new Set<Block>();
  for (const { block, bytes, share } of blocks.sort((a, b) => a.share - b.share)) {
    if (share <= fullShare && left > 0) {
      sparse.add(block);
      left -= bytes;
    } else {
      kept += bytes;
      garbage += block.size - bytes;
    }
  }
  return { sparse, kept, garbage };
}
