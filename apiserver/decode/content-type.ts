import { ApiError } from '@homeostat/controller-runtime/api';

/** Media type of a Content-Type header, without parameters, lower case; '' when there is none. A charset other than UTF-8 is a 415. */
export function readContentType(header: string): string {
  if (header === '' || header === 'application/json') return header;
  const [type = '', ...parameters] = header.toLowerCase().split(';');
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) {
    throw new ApiError('UnsupportedMediaType', 'the body must be UTF-8');
  }
  return type.trim();
}
