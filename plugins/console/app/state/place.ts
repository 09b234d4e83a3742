import type { Resource } from '../api/resources.ts';

/** Where an object is. */
export interface Place {
  readonly resource: Resource;
  /** Empty for objects without one. */
  readonly namespace: string;
  readonly name: string;
}
