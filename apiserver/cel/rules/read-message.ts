import type { CelValue } from '../values/cel-value.ts';

/** Longest message that an expression may make. */
const maxLength = 5 * 1024;

/** The message that an expression made; undefined when it made none that can be shown, and the rule's own message is. */
export function readMessage(value: CelValue): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  return text === '' || text.length > maxLength || text.includes('\n') ? undefined : text;
}
