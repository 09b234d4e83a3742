import type { ServerEvent } from '../routes/server-response.ts';

/**
 * Encodes one event for `text/event-stream` (HTML standard, 9.2).
 * @throws TypeError for an id or event of several lines, a retry that is not a whole number, or data that JSON cannot
 * represent.
 */
export function eventFrame({ event, id, data, retry }: ServerEvent): string {
  let frame = '';
  if (event !== undefined) frame += `event: ${oneLine('event', event)}\n`;
  if (id !== undefined) frame += `id: ${oneLine('id', id)}\n`;
  if (retry !== undefined) frame += `retry: ${wholeNumber(retry)}\n`;
  const text = typeof data === 'string' ? data : (JSON.stringify(data) as string | undefined);
  if (text === undefined) throw new TypeError('the data of an event must be a text or a JSON value');
  for (const line of text.split(/\r\n|\r|\n/)) frame += `data: ${line}\n`;
  return `${frame}\n`;
}

function oneLine(field: string, value: string): string {
  if (typeof value === 'string' && !/[\r\n\0]/.test(value)) return value;
  throw new TypeError(`the ${field} of an event must be a text of one line`);
}

function wholeNumber(value: number): string {
  if (Number.isSafeInteger(value) && value >= 0) return String(value);
  throw new TypeError('the retry of an event must be a whole number of milliseconds');
}
