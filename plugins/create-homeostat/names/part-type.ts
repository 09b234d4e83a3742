/** The parts of a plugin. */
export type PartType = 'kind' | 'controller' | 'endpoint';

/** The comment in the list of index.ts above which the next part of a type is inserted. */
export function markerOf(type: PartType): string {
  return `// homeostat new ${type}`;
}
