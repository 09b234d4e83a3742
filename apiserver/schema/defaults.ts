import { ApiError, isJsonObject } from '@homeostat/controller-runtime/api';
import { maxObjectBytes } from '../limits/object-size.ts';
import type { Shape } from './shape.ts';

type Fields = Record<string, unknown>;

/**
 * Fills in defaults and removes nulls, in place, as Kubernetes does. An absent field gets its default. If the schema
 * does not say `nullable`, a null counts as absent: the default replaces the null; if there is no default, the field is
 * removed. A null in a list stays if the items have no default. An instance handles one object at a time.
 */
export class DefaultFiller {
  readonly #root: Shape;
  /** The number of bytes that defaults may still add to the current object. */
  #left = 0;

  constructor(root: Shape) {
    this.#root = root;
  }

  /**
   * Fills in the defaults of one object. @throws ApiError RequestEntityTooLarge when the defaults alone are larger than
   * an object may be. Without this limit, a schema of 4 KiB would turn a body with 2.6 MB of empty list items into
   * gigabytes. The limit is checked before a value is created.
   */
  readonly fill = (object: object): void => {
    this.#left = maxObjectBytes;
    this.#fillValue(object, this.#root);
  };

  #fillValue(value: object, shape: Shape): void {
    if (Array.isArray(value)) this.#fillItems(value, shape);
    else if (isJsonObject(value)) this.#fillFields(value, shape);
  }

  #fillFields(fields: Fields, shape: Shape): void {
    const { properties, additional, defaults } = shape.below;
    for (const [name, child] of defaults) {
      if (!Object.hasOwn(fields, name)) fields[name] = this.#defaultOf(child);
    }
    for (const name in fields) {
      const value = fields[name];
      // Scalars other than null need no defaults.
      if (typeof value !== 'object') continue;
      const child = properties.get(name) ?? additional;
      if (typeof child !== 'object') continue;
      const kept = value ?? this.#replaceNull(fields, name, child);
      if (typeof kept === 'object' && kept !== null) this.#fillValue(kept, child);
    }
  }

  /**
   * Replaces a null by the field's default, or removes the field if it has no default; keeps the null if the schema
   * says `nullable`. Returns the new value of the field.
   */
  #replaceNull(fields: Fields, name: string, shape: Shape): unknown {
    if (shape.isNullable) return null;
    if (shape.defaultValue === undefined) delete fields[name];
    else fields[name] = this.#defaultOf(shape);
    return fields[name];
  }

  #fillItems(items: unknown[], { below: { items: shape } }: Shape): void {
    if (shape === undefined) return;
    for (let index = 0; index < items.length; index += 1) {
      if (items[index] === null && !shape.isNullable && shape.defaultValue !== undefined)
        items[index] = this.#defaultOf(shape);
      const item = items[index];
      if (typeof item === 'object' && item !== null) this.#fillValue(item, shape);
    }
  }

  #defaultOf(shape: Shape): unknown {
    this.#left -= shape.defaultLength;
    if (this.#left >= 0) return copyOf(shape.defaultValue);
    const message = `Request entity too large: the defaults that the schema fills in are more than ${maxObjectBytes} bytes, the limit of an object`;
    throw new ApiError('RequestEntityTooLarge', message);
  }
}

/** Copies a default, because objects are changed in place later. */
function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, copyOf(child)]));
}
