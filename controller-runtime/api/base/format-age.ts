/**
 * Returns the text of a duration in milliseconds, in the same format as kubectl. It has at most two units, and a second
 * unit only when the number of the first one is small: `45s`, `3m20s`, `25m`, `7h5m`, `30h`, `4d3h`, `90d`, `2y20d`,
 * `9y`. A duration of less than two seconds below zero is `0s`, because clocks differ; a more negative one is
 * `<invalid>`.
 */
export function formatAge(durationMs: number): string {
  const seconds = Math.trunc(durationMs / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 120) return `${Math.max(seconds, 0)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return withRest(`${minutes}m`, seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return withRest(`${hours}h`, minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return withRest(`${days}d`, hours % 24, 'h');
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? withRest(`${years}y`, days % 365, 'd') : `${years}y`;
}

function withRest(text: string, rest: number, unit: string): string {
  return rest === 0 ? text : `${text}${rest}${unit}`;
}
