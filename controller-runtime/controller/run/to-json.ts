/** The value as JSON holds it: without undefined members, dates as strings. Throws TypeError on cycles and bigints. */
export function toJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null)) as unknown;
}
