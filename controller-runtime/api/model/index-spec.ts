import type { ApiObject } from '../object/object.ts';
import { unknownKeyOf } from '../base/unknown-key.ts';

/**
 * The function of an index: it returns the values of an object, encoded as strings. The order of the strings by code
 * point is the sort order. An empty list means "no value": the object is not in the index, the unique rule does not
 * apply to it, and it comes last in a sort.
 */
export interface IndexAttribute<T extends ApiObject = ApiObject> {
  /** True when an object may have several values, for example with `multiValueAttribute` or a path through an array. */
  readonly multiValued: boolean;
  /**
   * Returns the values of an object. Throws the error of the author's function, and TypeError when a value is not a
   * string.
   */
  valuesOf(object: T): readonly string[];
  /**
   * Converts a literal in a selector to a value of this index. If this function is absent, the literal itself is the
   * value. Throws RangeError for a literal that is not a value of the type.
   */
  encode?(literal: string): string;
  /**
   * A text that identifies the function: attributes with the same definition return the same values for the same
   * object, in every process. If all indexes of a kind have a definition, a server on SQLite stores their values for
   * its next start. Otherwise, each start computes all values of the kind. An index by path has a definition, except
   * one by the path metadata.resourceVersion. An author who sets a definition has to change it whenever the function
   * returns other values. Default: none.
   */
  readonly definition?: string | undefined;
}

/** Declaration of one index (specification, section 2.8). */
export interface IndexSpecOptions<T extends ApiObject = ApiObject> {
  /** The name, unique within the model. We recommend the path of the field, such as `spec.slug`. */
  readonly name: string;
  /** The direction of a sort by this index when the request gives none. Default ASC. */
  readonly order?: 'ASC' | 'DESC';
  /**
   * True when no two objects of the kind, not even in different namespaces, may have the same value. A write that would
   * give a second object the value is refused (422). Default false.
   */
  readonly unique?: boolean;
  readonly indexFunc: IndexAttribute<T>;
}

/** The keys of {@link IndexSpecOptions}. */
export const indexKeys: readonly string[] = Object.freeze(['name', 'order', 'unique', 'indexFunc']);

/**
 * Declares an index of a model (specification, section 2.8). The values that an index has for an object are strings.
 */
export class IndexSpec<T extends ApiObject = ApiObject> {
  readonly name: string;
  readonly order: 'ASC' | 'DESC';
  readonly unique: boolean;
  readonly indexFunc: IndexAttribute<T>;

  /** @throws TypeError for an unknown key. The other rules are checked when the index is added to a model. */
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
