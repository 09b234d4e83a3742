let lastSecond = Number.NaN;
let lastText = '';

/** RFC 3339, UTC, whole seconds: the form of every timestamp in metadata. Remembers the last second: it is asked for by every write. */
export function formatTime(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== lastSecond) {
    lastText = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`;
    lastSecond = second;
  }
  return lastText;
}
