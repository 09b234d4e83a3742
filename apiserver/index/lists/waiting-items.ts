/**
 * A value that an object has in an index, and the number of the object's row in the table of all objects of the kind
 * (`EntryTable`).
 */
export interface Item {
  readonly value: string;
  readonly row: number;
}

/** Once this number of items has been added since the last sort, all waiting items are sorted. */
const sortedTogether = 256;

/**
 * The number of sorted items that are returned together. To place them in an index with 200,000 other items takes half
 * a millisecond.
 */
const takenTogether = 32;

/**
 * Items that wait to be placed in an index. To place sorted items takes less time than to place each item when it is
 * added. To place very many in one turn of the event loop would delay all requests: 1,024 items in each of three
 * indexes of 200,000 objects took 46 ms.
 */
export class WaitingItems {
  readonly #sort: (items: Item[]) => void;
  /** The items that were added last, in no particular order. */
  #fresh: Item[] = [];
  /**
   * The items that were added before the last sort, in descending order. The lowest items are inserted into the index
   * first, so they are at the end, where their removal takes the least time.
   */
  #sorted: Item[] = [];

  /** `sort` sorts a list in the order of the index. */
  constructor(sort: (items: Item[]) => void) {
    this.#sort = sort;
  }

  get size(): number {
    return this.#fresh.length + this.#sorted.length;
  }

  /** Adds an item. Returns the items that the caller has to insert into the index now, in the order of the index. */
  add(item: Item): readonly Item[] {
    const count = this.#fresh.push(item);
    if (count % takenTogether > 0) return noItems;
    const taken = this.#sorted.splice(-takenTogether).reverse();
    if (count >= sortedTogether) this.#sortAll();
    return taken;
  }

  /** Removes and returns all items, in order. */
  takeAll(): readonly Item[] {
    if (this.size === 0) return noItems;
    this.#sortAll();
    const all = this.#sorted.reverse();
    this.#sorted = [];
    return all;
  }

  /** Removes the item with this value and this row. Returns false when it is not among the waiting items. */
  remove(value: string, row: number): boolean {
    const list = [this.#fresh, this.#sorted].find((items) => positionOf(items, value, row) >= 0);
    list?.splice(positionOf(list, value, row), 1);
    return list !== undefined;
  }

  clear(): void {
    this.#fresh = [];
    this.#sorted = [];
  }

  #sortAll(): void {
    const items = this.#sorted.length === 0 ? this.#fresh : [...this.#fresh, ...this.#sorted];
    if (items.length > 1) this.#sort(items);
    this.#sorted = items.reverse();
    this.#fresh = [];
  }
}

const noItems: readonly Item[] = [];

function positionOf(items: readonly Item[], value: string, row: number): number {
  for (let at = 0; at < items.length; at += 1) {
    const item = items[at];
    if (item?.row === row && item.value === value) return at;
  }
  return -1;
}
