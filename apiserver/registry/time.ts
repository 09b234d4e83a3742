/** RFC 3339, UTC, whole seconds: the form of every timestamp in metadata. */
export function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
