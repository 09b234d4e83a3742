/** Returns a point in time as RFC 3339 in UTC, in whole seconds, as Kubernetes writes it. */
export function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
