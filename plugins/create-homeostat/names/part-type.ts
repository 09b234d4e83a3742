/** What a plugin consists of. */
export type PartType = 'kind' | 'controller' | 'endpoint';

/** The comment in the list of index.ts above which the next part of a type goes. */
export function markerOf(type: PartType): string {
  return `// homeostat new ${type}`;
}
