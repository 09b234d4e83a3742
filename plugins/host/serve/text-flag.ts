/** Returns the value of a flag that takes a text; undefined when the flag is absent. */
export function textFlag(flags: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = flags[name];
  return typeof value === 'string' ? value : undefined;
}
