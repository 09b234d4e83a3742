import { quoteValue } from '@homeostat/controller-runtime/api';
import type { FieldShape, Shape } from './shape.ts';

/**
 * The maximum number of values that one default may add to an object. If the default is an object whose own fields have
 * defaults, the values that these add are counted, too.
 */
const maxValues = 10_000;

/**
 * Refuses defaults that contain themselves, such as a default `{}` for a field that has the schema of the whole object;
 * and defaults that add more than 10,000 values. @throws RangeError, whose message shows the default.
 */
export function checkDefaults(shapes: Iterable<Shape>): void {
  const sizes = new DefaultSizes();
  for (const shape of shapes) if (shape.defaultValue !== undefined) sizes.ofDefault(shape);
}

/** Counts the values that each default adds to an object, and keeps the number, so as not to count them again. */
export class DefaultSizes {
  /** The number of values of each shape's default; undefined while the default is being counted. */
  readonly #sizes = new Map<Shape, number | undefined>();

  /**
   * Returns the number of values that the default of a shape adds to an object. @throws RangeError when this default
   * contains itself, or adds more than {@link maxValues} values.
   */
  ofDefault(shape: Shape): number {
    if (this.#sizes.has(shape)) {
      const known = this.#sizes.get(shape);
      if (known === undefined)
        throw new RangeError(`the default ${quoteValue(shape.defaultValue)} contains itself endlessly`);
      return known;
    }
    this.#sizes.set(shape, undefined);
    const size = this.#ofValue(shape.defaultValue, shape);
    if (size > maxValues)
      throw new RangeError(
        `the default ${quoteValue(shape.defaultValue)} adds more than ${maxValues} values to an object`,
      );
    this.#sizes.set(shape, size);
    return size;
  }

  #ofValue(value: unknown, field: FieldShape | undefined): number {
    if (typeof value !== 'object' || value === null) return 1;
    const below = typeof field === 'object' ? field.below : undefined;
    if (Array.isArray(value)) return 1 + sum(value.map((item) => this.#ofChild(item, below?.items)));
    const given = Object.entries(value).map(([name, child]) =>
      this.#ofChild(child, below?.properties.get(name) ?? below?.additional),
    );
    const added = (below?.defaults ?? []).filter(([name]) => !Object.hasOwn(value, name));
    return 1 + sum(given) + sum(added.map(([, child]) => this.ofDefault(child)));
  }

  /**
   * Returns the number of values in a field or item. If the value is a null that a default will replace, counts the
   * values of this default.
   */
  #ofChild(value: unknown, field: FieldShape | undefined): number {
    const isReplaced =
      value === null && typeof field === 'object' && !field.isNullable && field.defaultValue !== undefined;
    return isReplaced ? this.ofDefault(field) : this.#ofValue(value, field);
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
