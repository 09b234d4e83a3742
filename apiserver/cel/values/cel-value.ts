/**
 * A value of CEL. An `int` is a bigint, a `double` is a number, and `string`, `bool` and `null` are the JavaScript
 * primitives. Values of all other types are objects of classes.
 */
export type CelValue = null | boolean | bigint | number | string | CelObject;

/** A value of a type for which JavaScript has no primitive type. */
export abstract class CelObject {
  /** The name of the value's type, as `type()` shows it. */
  abstract readonly typeName: string;
}

export class CelUint extends CelObject {
  readonly typeName = 'uint';
  readonly value: bigint;

  constructor(value: bigint) {
    super();
    this.value = value;
  }
}

export class CelBytes extends CelObject {
  readonly typeName = 'bytes';
  readonly value: Uint8Array;

  constructor(value: Uint8Array) {
    super();
    this.value = value;
  }
}

/** A point in time, in nanoseconds since 1970. */
export class CelTimestamp extends CelObject {
  readonly typeName = 'google.protobuf.Timestamp';
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    super();
    this.nanos = nanos;
  }
}

export class CelDuration extends CelObject {
  readonly typeName = 'google.protobuf.Duration';
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    super();
    this.nanos = nanos;
  }
}

/** A type as a value, such as `int`. */
export class CelTypeValue extends CelObject {
  readonly typeName = 'type';
  readonly name: string;

  constructor(name: string) {
    super();
    this.name = name;
  }
}

export class CelOptional extends CelObject {
  static readonly none: CelOptional = new CelOptional(undefined);
  readonly typeName = 'optional_type';
  /** The value in the optional; undefined when the optional is empty. */
  readonly value: CelValue | undefined;

  constructor(value: CelValue | undefined) {
    super();
    this.value = value;
  }
}

/** The identity of the items of a list: their position, their value, or some of their fields. */
export type ListIdentity = 'position' | 'value' | readonly string[];

export abstract class CelList extends CelObject {
  abstract readonly length: number;
  /**
   * How items of two lists are matched. If they are not matched by position, two lists are equal in any order of their
   * items, and are concatenated without duplicates.
   */
  abstract readonly identity: ListIdentity;

  /** The name of the type. It is a getter, because a field would take memory and time in each list that is read. */
  get typeName(): 'list' {
    return 'list';
  }

  /** The item at an index within bounds. */
  abstract at(index: number): CelValue;
}

/** A list that an expression creates. */
export class ArrayList extends CelList {
  readonly identity: ListIdentity = 'position';
  readonly items: readonly CelValue[];

  constructor(items: readonly CelValue[]) {
    super();
    this.items = items;
  }

  get length(): number {
    return this.items.length;
  }

  at(index: number): CelValue {
    const item = this.items[index];
    if (item === undefined) throw new RangeError(`there is no item ${index}`);
    return item;
  }
}

export abstract class CelMap extends CelObject {
  abstract readonly size: number;

  get typeName(): string {
    return 'map';
  }

  abstract get(key: CelValue): CelValue | undefined;
  abstract keys(): readonly CelValue[];

  /** Returns the value of a field whose name is in the source of the expression; undefined when it is absent. */
  read({ name }: NamedField): CelValue | undefined {
    return this.get(name);
  }
}

/**
 * A field whose name is in the source of an expression. It caches the index of the field in objects of one schema, so
 * that only the first object needs to look it up.
 */
export interface NamedField {
  readonly name: string;
  /** The schema in which the field has the number `index`; undefined until the field is found in a schema. */
  schema: object | undefined;
  index: number;
}

/** A map that an expression creates. Equal numbers of different types are the same key. */
export class EntryMap extends CelMap {
  readonly #entries = new Map<string, readonly [key: CelValue, value: CelValue]>();

  get size(): number {
    return this.#entries.size;
  }

  get(key: CelValue): CelValue | undefined {
    const id = keyOf(key);
    return id === undefined ? undefined : this.#entries.get(id)?.[1];
  }

  keys(): readonly CelValue[] {
    return Array.from(this.#entries.values(), ([key]) => key);
  }

  /**
   * Adds an entry. Returns false when the map already has the key, or when `key` is a value that cannot be a key. Only
   * the code that creates the map may call this method.
   */
  add(key: CelValue, value: CelValue): boolean {
    const id = keyOf(key);
    if (id === undefined || this.#entries.has(id)) return false;
    this.#entries.set(id, [key, value]);
    return true;
  }
}

function keyOf(key: CelValue): string | undefined {
  switch (typeof key) {
    case 'string':
      return `s${key}`;
    case 'bigint':
      return `n${key}`;
    case 'boolean':
      return `b${key}`;
    case 'number':
      return Number.isInteger(key) ? `n${BigInt(key)}` : undefined;
    default:
      return key instanceof CelUint ? `n${key.value}` : undefined;
  }
}

/** Returns the name of a value's type, as `type()` and messages show it. */
export function typeNameOf(value: CelValue): string {
  switch (typeof value) {
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    case 'boolean':
      return 'bool';
    case 'string':
      return 'string';
    default:
      return value === null ? 'null_type' : value.typeName;
  }
}

/**
 * Returns the size of a value, such as the number of UTF-16 units of a text or of entries of a map; 1 for a value
 * without a size.
 */
export function sizeOf(value: CelValue): number {
  if (typeof value === 'string') return value.length;
  if (value instanceof CelList) return value.length;
  if (value instanceof CelMap) return value.size;
  if (value instanceof CelBytes) return value.value.length;
  if (value instanceof CelOptional && value.value !== undefined) return sizeOf(value.value);
  return 1;
}
