/** Returns a number and a noun, in the plural if needed: `1 object`, `2 objects`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
