import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import { gunzip, inflate } from 'node:zlib';
import { ApiError } from '@homeostat/controller-runtime/api';
import getRawBody from 'raw-body';
import type { Context } from 'koa';

/** 3 MiB after inflation, as in Kubernetes. */
const maxBodyBytes: number = 3 * 1024 * 1024;

/** What still comes after the limit is read on up to here, so that the client sees the answer instead of a reset. */
const maxDiscardedBytes = 16 * 1024 * 1024;

const decoders = { gzip: promisify(gunzip), deflate: promisify(inflate) };

/** Media type without parameters, lower case; '' when there is none. A charset other than UTF-8 is a 415. */
export function mediaTypeOf(context: Context): string {
  const [type = '', ...parameters] = context.get('Content-Type').toLowerCase().split(';');
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) {
    throw new ApiError('UnsupportedMediaType', 'the body must be UTF-8');
  }
  return type.trim();
}

/** The body as text. 413 over the limit, 415 for an unknown Content-Encoding, 400 for bytes that are not UTF-8. */
export async function readText(context: Context): Promise<string> {
  const encoding = context.get('Content-Encoding').toLowerCase();
  const plain = encoding === '' || encoding === 'identity';
  if (!plain && encoding !== 'gzip' && encoding !== 'deflate') {
    throw new ApiError('UnsupportedMediaType', 'the Content-Encoding must be gzip or deflate');
  }
  const sent = await readBytes(context);
  const bytes = plain ? sent : await decode(context, sent, decoders[encoding]);
  if (!isUtf8(bytes)) throw new ApiError('BadRequest', 'the body is not valid UTF-8');
  return bytes.toString('utf8');
}

async function readBytes(context: Context): Promise<Buffer> {
  const length = context.request.length;
  if (length !== undefined && length > maxBodyBytes) throw discard(context);
  try {
    return await getRawBody(context.req, { limit: maxBodyBytes, ...(length === undefined ? {} : { length }) });
  } catch (cause) {
    if (hasValue(cause, 'status', 413)) throw discard(context);
    throw new ApiError('BadRequest', 'the body could not be read', { cause });
  }
}

async function decode(context: Context, sent: Buffer, decoder: (typeof decoders)['gzip']): Promise<Buffer> {
  try {
    return await decoder(sent, { maxOutputLength: maxBodyBytes });
  } catch (cause) {
    if (hasValue(cause, 'code', 'ERR_BUFFER_TOO_LARGE')) throw discard(context);
    throw new ApiError('BadRequest', 'the body does not match its Content-Encoding', { cause });
  }
}

function hasValue(error: unknown, field: string, value: unknown): boolean {
  return error instanceof Error && field in error && (error as Error & Record<string, unknown>)[field] === value;
}

function discard(context: Context): ApiError {
  const { req } = context;
  let discarded = 0;
  req.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > maxDiscardedBytes) req.destroy();
  });
  req.resume();
  // The connection stays: closed with the answer, it would be reset under a client that still sends, and the answer lost.
  return new ApiError('RequestEntityTooLarge', `Request entity too large: limit is ${maxBodyBytes}`);
}
