/** The maximum depth of a schema. Validators are recursive, and 3,000 levels overflowed the stack of one of them. */
export const maxSchemaDepth = 100;

/** The maximum number of schemas in one model; the largest known definitions have some 10,000. */
const maxSchemas = 100_000;

/**
 * Counts schemas as they are visited, to refuse small declarations that become huge: a declaration that uses the same
 * object twice at each of 40 levels has 2^40 schemas.
 */
export class SchemaCounter {
  #count = 0;

  /** Counts one schema; returns the broken rule once there are too many. */
  count(): string | undefined {
    this.#count += 1;
    return this.#count > maxSchemas ? `a model holds at most ${maxSchemas} schemas` : undefined;
  }
}
