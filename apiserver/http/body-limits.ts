/** Limits of a body beyond its size in bytes. */
export interface BodyLimits {
  /** Deepest nesting of objects and lists; the outermost counts as 1. */
  readonly maxDepth: number;
}
