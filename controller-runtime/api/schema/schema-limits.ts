/** The maximum depth of a schema. Validators are recursive, and 3,000 levels overflowed the stack of one of them. */
export const maxSchemaDepth = 100;

/**
 * The maximum number of schemas in one model, including nested schemas. The largest known CustomResourceDefinitions
 * have about 10,000.
 */
const maxSchemas = 100_000;

/**
 * Counts the schemas that are visited in one model, in order to refuse a small declaration that becomes huge. For
 * example, a declaration that uses the same object twice at each of 40 levels has 2^40 schemas.
 */
export class SchemaCounter {
  #count = 0;

  /** Counts one schema. Returns the broken rule when there are too many, otherwise undefined. */
  count(): string | undefined {
    this.#count += 1;
    return this.#count > maxSchemas ? `a model has at most ${maxSchemas} schemas` : undefined;
  }
}
