/** Limits of a body beyond its size in bytes. */
export interface BodyLimits {
  /** Deepest nesting of objects and lists; the outermost counts as 1. */
  readonly maxDepth: number;
}

/** The limits of every object, over HTTP and in process. */
export const objectLimits: BodyLimits = Object.freeze({ maxDepth: 64 });
