/** The name of a field, or the index of a list item. */
export type PathSegment = string | number;

/** The maximum length of a path in a message. The keys of a path come from clients, and can have megabytes. */
const maxPathLength = 1024;

/**
 * Formats a path as Kubernetes does (`spec.items[1].b`), and truncates it to 1,024 characters. Returns the empty text
 * for the object itself.
 */
export function formatPath(segments: readonly PathSegment[]): string {
  let path = '';
  for (const segment of segments) {
    if (typeof segment === 'number') path += `[${segment}]`;
    else path += path === '' ? segment : `.${segment}`;
    if (path.length > maxPathLength) return `${path.slice(0, maxPathLength)}…`;
  }
  return path;
}
