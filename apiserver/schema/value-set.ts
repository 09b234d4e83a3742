import { canonicalText } from './distinct.ts';

/** JSON values that are looked up by hash: an enum of 100,000 values costs one value no more than an enum of two. */
export class ValueSet {
  readonly #scalars: ReadonlySet<unknown>;
  /** Objects and lists, by their text with sorted keys. */
  readonly #containers: ReadonlySet<string>;

  constructor(values: readonly unknown[]) {
    this.#scalars = new Set(values.filter((value) => !isContainer(value)));
    this.#containers = new Set(values.filter(isContainer).map(canonicalText));
  }

  has(value: unknown): boolean {
    if (!isContainer(value)) return this.#scalars.has(value);
    return this.#containers.size > 0 && this.#containers.has(canonicalText(value));
  }
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
