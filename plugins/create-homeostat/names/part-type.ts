/** The types of the parts of a plugin. */
export type PartType = 'kind' | 'controller' | 'endpoint';

/**
 * Returns the comment that marks a place in a plugin's index.ts: `homeostat new` inserts the next kind, controller or
 * endpoint above the comment for this type.
 */
export function markerOf(type: PartType): string {
  return `// homeostat new ${type}`;
}
