import { ApiError } from '@homeostat/controller-runtime/api';

/** Returns the media type of a Content-Type header in lower case, without parameters; '' when there is none. @throws ApiError 415 for a charset other than UTF-8. */
export function readContentType(header: string): string {
  if (header === '' || header === 'application/json') return header;
  const [type = '', ...parameters] = header.toLowerCase().split(';');
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) {
    throw new ApiError('UnsupportedMediaType', 'the body must be UTF-8');
  }
  return type.trim();
}
