/** The deepest nesting of a schema: validators recurse, and 3,000 levels overflowed the stack of one. */
export const maxSchemaDepth = 100;

/** The maximum number of schemas in one model; the largest known definitions have some 10,000. */
const maxSchemas = 100_000;

/**
 * Counts schemas as they are visited: a small schema that uses an object twice at each of 40 levels is a tree of 2^40
 * schemas.
 */
export class SchemaCounter {
  #count = 0;

  /** The rule that is broken once there are too many. */
  count(): string | undefined {
    this.#count += 1;
    return this.#count > maxSchemas ? `a model holds at most ${maxSchemas} schemas` : undefined;
  }
}
