/** Limits of a body beyond its size in bytes. */
export interface BodyLimits {
  /** The deepest nesting of objects and lists; the outermost counts as 1. */
  readonly maxDepth: number;
  /**
   * The maximum number of fields of one object, and of items of a list that must be distinct (`set`, `map`,
   * finalizers). Default: any number.
   */
  readonly maxFields?: number;
  /**
   * The maximum number of fields and items of all objects and lists together; each object and list adds one. Default:
   * any number.
   */
  readonly maxNodes?: number;
}

/**
 * The limits of every object, over HTTP and in process. The limits of counts bound the time of a write, which takes up
 * to 0.5 µs per node, and 5 µs per field of a large object. The largest known definition, of 1.2 MB, has 40,000 nodes.
 */
export const objectLimits: Required<BodyLimits> = Object.freeze({
  maxDepth: 64,
  maxFields: 10_000,
  maxNodes: 250_000,
});

/** A text with fewer characters cannot exceed the limits of counts, so nothing is counted in it. */
export const uncountedLength: number = 32 * 1024;
