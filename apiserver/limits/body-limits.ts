/** The limits of a body, in addition to its size in bytes. */
export interface BodyLimits {
  /** The maximum depth of nested objects and lists; the outermost one counts as 1. */
  readonly maxDepth: number;
  /**
   * The maximum number of fields of one JSON object, and of items of a list whose items must be distinct (`set`, `map`,
   * finalizers). Default: any number.
   */
  readonly maxFields?: number;
  /**
   * The maximum number of nodes: the number of fields and items in all objects and lists, plus one for each object and
   * each list. Default: any number.
   */
  readonly maxNodes?: number;
}

/**
 * The limits of every object, whether it is written over HTTP or in the server's process. The limits of fields and
 * nodes bound the time of a write. A write takes up to 0.5 µs for each node, and 5 µs for each field of a large object.
 * The largest known definition, of 1.2 MB, has 40,000 nodes.
 */
export const objectLimits: Required<BodyLimits> = Object.freeze({
  maxDepth: 64,
  maxFields: 10_000,
  maxNodes: 250_000,
});

/**
 * A text with fewer characters cannot exceed the limits of fields and nodes, so its fields and nodes are not counted.
 */
export const uncountedLength: number = 32 * 1024;
