import type { Context } from 'koa';
import { readContentType } from '../decode/content-type.ts';
import { readBodyText } from '../decode/read-body.ts';

/** Media type without parameters, lower case; '' when there is none. A charset other than UTF-8 is a 415. */
export function mediaTypeOf(context: Context): string {
  return readContentType(context.get('Content-Type'));
}

/** The body as text. 413 over the limit, 415 for an unknown Content-Encoding, 400 for bytes that are not UTF-8. */
export function readText(context: Context): Promise<string> {
  return readBodyText(context.req);
}
