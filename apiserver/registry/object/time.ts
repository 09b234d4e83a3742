let lastSecond = Number.NaN;
let lastText = '';

/**
 * Returns a timestamp in the form of metadata: RFC 3339, UTC, whole seconds. The last second is cached, since every write
 * needs it.
 */
export function formatTime(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== lastSecond) {
    lastText = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`;
    lastSecond = second;
  }
  return lastText;
}
