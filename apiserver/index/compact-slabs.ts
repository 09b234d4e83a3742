import type { Steps } from '../turns/steps.ts';
import { memoryOf, moveBytes } from './entry.ts';
import type { Entry, Slabs } from './entry.ts';

/** Entries looked at in one step: a fraction of a millisecond. */
const seenPerStep = 2000;

/** Bytes copied in one step: a fraction of a millisecond. */
const movedPerStep = 256 * 1024;

/** Only a part of the bytes is moved at a time, because the old blocks stay until V8 collects garbage. */
const movedShare = 1 / 4;

/** In a block with more live bytes than this share, moving them frees too little. */
const fullShare = 0.9;

/**
 * Moves the bytes of entries out of the blocks that hold the most garbage, so that these can be freed. Bytes that were read before
 * stay valid. `entries` gives each entry in use once; writes may happen between the steps.
 */
export function* compactSlabs(slabs: Slabs, entries: () => Iterable<Entry>): Steps<void> {
  slabs.seal();
  const { sparse, kept, garbage } = sparsest(yield* liveBytes(slabs, entries));
  slabs.settle(kept, garbage);
  let moved = 0;
  let seen = 0;
  for (const entry of entries()) {
    seen += 1;
    if (seen % seenPerStep === 0) yield;
    if (!sparse.has(memoryOf(entry))) continue;
    moveBytes(entry, slabs.allocate);
    moved += entry.size;
    if (moved < movedPerStep) continue;
    moved = 0;
    yield;
  }
}

function* liveBytes(slabs: Slabs, entries: () => Iterable<Entry>): Steps<ReadonlyMap<ArrayBufferLike, number>> {
  const live = new Map<ArrayBufferLike, number>();
  let seen = 0;
  for (const entry of entries()) {
    const memory = memoryOf(entry);
    if (slabs.isSealed(memory)) live.set(memory, (live.get(memory) ?? 0) + entry.size);
    seen += 1;
    if (seen % seenPerStep === 0) yield;
  }
  return live;
}

/** The blocks with the smallest share of live bytes, as many as may be moved at a time, and the live bytes and the garbage in the others. */
function sparsest(live: ReadonlyMap<ArrayBufferLike, number>): {
  readonly sparse: ReadonlySet<ArrayBufferLike>;
  readonly kept: number;
  readonly garbage: number;
} {
  const blocks = [...live].map(([memory, bytes]) => ({ memory, bytes, share: bytes / memory.byteLength }));
  let left = blocks.reduce((sum, { bytes }) => sum + bytes, 0) * movedShare;
  let [kept, garbage] = [0, 0];
  const sparse = new Set<ArrayBufferLike>();
  for (const { memory, bytes, share } of blocks.sort((a, b) => a.share - b.share)) {
    if (share <= fullShare && left > 0) {
      sparse.add(memory);
      left -= bytes;
    } else {
      kept += bytes;
      garbage += memory.byteLength - bytes;
    }
  }
  return { sparse, kept, garbage };
}
