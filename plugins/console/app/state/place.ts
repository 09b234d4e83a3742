import type { Resource } from '../api/resources.ts';

/** The kind, the namespace and the name of an object. */
export interface Place {
  readonly resource: Resource;
  /** Empty for objects without a namespace. */
  readonly namespace: string;
  readonly name: string;
}
