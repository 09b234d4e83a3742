import type { CelValue } from '../values/cel-value.ts';

/** The maximum length of a message that an expression returns. */
const maxLength = 5 * 1024;

/**
 * Returns the message that an expression returned. Returns undefined when the message cannot be shown; the rule's own
 * message, or its expression, is then shown.
 */
export function readMessage(value: CelValue): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  return text === '' || text.length > maxLength || text.includes('\n') ? undefined : text;
}
