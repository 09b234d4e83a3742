import type { ApiObject } from '../object/object.ts';
import { unknownKeyOf } from '../base/unknown-key.ts';

/**
 * The result of an index function for an object: its values, encoded as strings whose code point order is the sort
 * order. The empty list means "no value": the object is not in the index, the unique rule does not apply to it, and
 * it comes last in a sort.
 */
export interface IndexAttribute<T extends ApiObject = ApiObject> {
  /** False for simpleAttribute and paths to scalars: never more than one value. */
  readonly multiValued: boolean;
  /**
   * Returns the values of an object. Throws the error of the author's function, and TypeError when a value is not a
   * string.
   */
  valuesOf(object: T): readonly string[];
  /**
   * Converts a selector's literal to a value of this index; without it, the literal itself is the value. Throws
   * RangeError on a literal that the type cannot hold.
   */
  encode?(literal: string): string;
  /**
   * Identifies the function: attributes with the same definition return the same values for the same object, in every
   * process. A server keeps the values of an index with a definition in its database; without a definition, it computes
   * them at each start. Indexes by path have a definition. An author who sets it has to change it whenever the function
   * returns other values. Default: none.
   */
  readonly definition?: string | undefined;
}

/** Declaration of one index (spec 2.8). */
export interface IndexSpecOptions<T extends ApiObject = ApiObject> {
  /** The name, unique within the model. We recommend the path of the field, such as `spec.slug`. */
  readonly name: string;
  /** The order of a sort by this index that names no direction. Default ASC. */
  readonly order?: 'ASC' | 'DESC';
  /** True when no two objects may have the same value: a write that breaks this is refused. Default false. */
  readonly unique?: boolean;
  readonly indexFunc: IndexAttribute<T>;
}

/** The keys of {@link IndexSpecOptions}. */
export const indexKeys: readonly string[] = Object.freeze(['name', 'order', 'unique', 'indexFunc']);

/** Index specification (spec 2.8). Values are strings. */
export class IndexSpec<T extends ApiObject = ApiObject> {
  readonly name: string;
  readonly order: 'ASC' | 'DESC';
  readonly unique: boolean;
  readonly indexFunc: IndexAttribute<T>;

  /** @throws TypeError for an unknown key. The other rules are checked where the index is declared. */
  constructor(options: IndexSpecOptions<T>) {
    const unknown = unknownKeyOf(options, indexKeys);
    if (unknown !== undefined) throw new TypeError(`IndexSpec "${options.name}": ${unknown}`);
    this.name = options.name;
    this.order = options.order ?? 'ASC';
    this.unique = options.unique ?? false;
    this.indexFunc = options.indexFunc;
    Object.freeze(this);
  }
}
