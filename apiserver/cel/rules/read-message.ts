import type { CelValue } from '../values/cel-value.ts';

/** The longest message that an expression may make. */
const maxLength = 5 * 1024;

/**
 * Returns the message that an expression made; undefined when it made none that can be shown, so that the rule's own
 * message is shown.
 */
export function readMessage(value: CelValue): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  return text === '' || text.length > maxLength || text.includes('\n') ? undefined : text;
}
