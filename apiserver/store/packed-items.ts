import type { Steps } from '../turns/steps.ts';

/**
 * Items as JSON, some thousands in each part, so that the thread can do other work between two parts. A structured
 * clone of all items would block the thread for the whole time.
 */
export type PackedItems = readonly Uint8Array<ArrayBuffer>[];

/** The number of items in one part, which takes one to two milliseconds. */
const itemsPerPart = 2_000;

/** Packs items into parts, one part in each step. */
export function* packItems(items: readonly unknown[]): Steps<PackedItems> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let from = 0; from < items.length; from += itemsPerPart) {
    yield;
    // TextEncoder allocates an ArrayBuffer of its own for each part, so the part can be transferred to another thread
    // without a copy. A Buffer may be a piece of memory that other buffers use, too.
    parts.push(new TextEncoder().encode(JSON.stringify(items.slice(from, from + itemsPerPart))));
  }
  return parts;
}

/** Returns the items of all parts; unpacks one part in each step. */
export function* unpackItems<Item>(parts: PackedItems): Steps<readonly Item[]> {
  const items: Item[] = [];
  for (const part of parts) {
    yield;
    items.push(...(JSON.parse(new TextDecoder().decode(part)) as Item[]));
  }
  return items;
}
