/** The types of the parts of a plugin. */
export type PartType = 'kind' | 'controller' | 'endpoint';

/** Returns the comment in a list of index.ts, above which the next part of this type is inserted. */
export function markerOf(type: PartType): string {
  return `// homeostat new ${type}`;
}
