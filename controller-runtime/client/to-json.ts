/**
 * Returns the value in the form that JSON has: without undefined members, and with dates as strings. The value
 * undefined becomes null. Throws TypeError on cycles and bigints.
 */
export function toJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value ?? null)) as T;
}
