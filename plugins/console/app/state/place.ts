import type { Resource } from '../api/resources.ts';

/** The place of an object. */
export interface Place {
  readonly resource: Resource;
  /** Empty for objects without one. */
  readonly namespace: string;
  readonly name: string;
}
