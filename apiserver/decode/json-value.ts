/** True for a text that UTF-8 cannot encode. */
export function isIllFormed(text: string): boolean {
  return !text.isWellFormed();
}

/** True for a JSON value that contains a text or a name that UTF-8 cannot encode. */
export function hasLoneSurrogate(value: unknown): boolean {
  if (typeof value === 'string') return isIllFormed(value);
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(hasLoneSurrogate);
  return Object.entries(value).some(([name, child]) => isIllFormed(name) || hasLoneSurrogate(child));
}
