import type { Context } from 'koa';
import { readContentType } from '../../decode/content-type.ts';

/** Media type without parameters, lower case; '' when there is none. A charset other than UTF-8 is a 415. */
export function mediaTypeOf(context: Context): string {
  return readContentType(context.get('Content-Type'));
}
