import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip, inflate } from 'node:zlib';
import { ApiError } from '@homeostat/controller-runtime/api';
import getRawBody from 'raw-body';

/** 3 MiB after inflation, as in Kubernetes. */
export const maxBodyBytes: number = 3 * 1024 * 1024;

/** What still comes after the limit is read on up to here, so that the client sees the answer instead of a reset. */
const maxDiscardedBytes = 16 * 1024 * 1024;

const decoders = { gzip: promisify(gunzip), deflate: promisify(inflate) };

/** The body, decompressed. 413 over the limit, 415 for an unknown Content-Encoding. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const encoding = request.headers['content-encoding']?.toLowerCase() ?? '';
  const plain = encoding === '' || encoding === 'identity';
  if (!plain && encoding !== 'gzip' && encoding !== 'deflate') {
    throw new ApiError('UnsupportedMediaType', 'the Content-Encoding must be gzip or deflate');
  }
  const sent = await readBytes(request);
  return plain ? sent : decode(request, sent, decoders[encoding]);
}

/** Reads what still comes and drops it, bounded: a connection with an unread rest could not go on to its next request. */
export function discardRest(request: IncomingMessage): void {
  let discarded = 0;
  request.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > maxDiscardedBytes) request.destroy();
  });
  request.resume();
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const length = lengthOf(request);
  if (length !== undefined && length > maxBodyBytes) throw discard(request);
  try {
    return await getRawBody(request, { limit: maxBodyBytes, ...(length === undefined ? {} : { length }) });
  } catch (cause) {
    if (hasValue(cause, 'status', 413)) throw discard(request);
    throw new ApiError('BadRequest', 'the body could not be read', { cause });
  }
}

/** Node has checked that the header is a number. */
function lengthOf(request: IncomingMessage): number | undefined {
  const header = request.headers['content-length'];
  return header === undefined || header === '' ? undefined : Number(header);
}

async function decode(request: IncomingMessage, sent: Buffer, decoder: (typeof decoders)['gzip']): Promise<Buffer> {
  try {
    return await decoder(sent, { maxOutputLength: maxBodyBytes });
  } catch (cause) {
    if (hasValue(cause, 'code', 'ERR_BUFFER_TOO_LARGE')) throw discard(request);
    throw new ApiError('BadRequest', 'the body does not match its Content-Encoding', { cause });
  }
}

function hasValue(error: unknown, field: string, value: unknown): boolean {
  return error instanceof Error && field in error && (error as Error & Record<string, unknown>)[field] === value;
}

function discard(request: IncomingMessage): ApiError {
  discardRest(request);
  // The connection stays: closed with the answer, it would be reset under a client that still sends, and the answer lost.
  return new ApiError('RequestEntityTooLarge', `Request entity too large: limit is ${maxBodyBytes}`);
}
