/** A property's name, or an index of a list. */
export type PathSegment = string | number;

/** The longest path that a message shows: keys come from clients and can be megabytes. */
const maxPathLength = 1024;

/** Formats a path as Kubernetes does, `spec.items[1].b`, cut at 1,024 characters. Empty for the object itself. */
export function formatPath(segments: readonly PathSegment[]): string {
  let path = '';
  for (const segment of segments) {
    if (typeof segment === 'number') path += `[${segment}]`;
    else path += path === '' ? segment : `.${segment}`;
    if (path.length > maxPathLength) return `${path.slice(0, maxPathLength)}…`;
  }
  return path;
}
