import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip, inflate } from 'node:zlib';
import { ApiError, isApiError } from '@homeostat/controller-runtime/api';
import type { BodyMemory, Exchange } from './body-memory.ts';
import { GrowingBuffer } from './growing-buffer.ts';
import { toError } from '../base/to-error.ts';

/** The maximum number of bytes of a body after inflation: 3 MiB, as in Kubernetes. */
export const maxBodyBytes: number = 3 * 1024 * 1024;

/**
 * The maximum number of bytes that are read and dropped after a refusal, so that the client gets the response instead
 * of a reset.
 */
const maxDiscardedBytes = 16 * 1024 * 1024;

/** The maximum number of bytes that one compressed byte can become. */
const mostInflation = 1032;

const decoders = { gzip: promisify(gunzip), deflate: promisify(inflate) };

/**
 * Returns the body, decompressed, and counts it in the memory of bodies.
 * @throws ApiError 413 over the limit, 415 for an unknown Content-Encoding, 503 when the memory of bodies is full
 */
export function readBody(exchange: Exchange, memory: BodyMemory): Promise<Buffer> {
  const encoding = exchange.req.headers['content-encoding']?.toLowerCase() ?? '';
  return encoding === '' || encoding === 'identity'
    ? readBytes(exchange, memory)
    : readCompressed(exchange, memory, encoding);
}

async function readCompressed(exchange: Exchange, memory: BodyMemory, encoding: string): Promise<Buffer> {
  if (encoding !== 'gzip' && encoding !== 'deflate') {
    throw new ApiError('UnsupportedMediaType', 'the Content-Encoding must be gzip or deflate');
  }
  const { req } = exchange;
  const sent = await readBytes(exchange, memory);
  memory.hold(req, sent.length + Math.min(maxBodyBytes, mostInflation * sent.length));
  const body = await decode(sent, decoders[encoding]);
  memory.hold(req, body.length);
  return body;
}

/** Reads the rest of a body and drops it, up to a bound: a connection with an unread rest cannot serve its next request. */
export function discardRest(request: IncomingMessage): void {
  let discarded = 0;
  request.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > maxDiscardedBytes) request.destroy();
  });
  request.resume();
}

/** Rejects when the response closes first, since no client waits for the body then. */
async function readBytes({ req, res }: Exchange, memory: BodyMemory): Promise<Buffer> {
  try {
    const length = lengthOf(req);
    if (length !== undefined && length > maxBodyBytes) throw tooLarge();
    memory.hold(req, length ?? 0);
    return await new Promise((resolve, reject) => {
      if (res.closed) return reject(gone());
      let isOver = false;
      let whole: Buffer | undefined;
      let parts: ArrivingBody | undefined;
      const fail = (error: Error): void => {
        isOver = true;
        whole = parts = undefined;
        reject(error);
      };
      // Listeners stay: to remove them costs 1 % of a creation, and they do nothing once the body is over.
      req.on('data', (chunk: Buffer) => {
        if (isOver) return;
        // Most bodies come in one piece.
        if (chunk.length === length) {
          whole = chunk;
          return;
        }
        try {
          parts ??= new ArrivingBody(length, (bytes) => memory.hold(req, bytes));
          parts.add(chunk);
        } catch (error) {
          fail(toError(error));
        }
      });
      req.on('end', () => {
        isOver = true;
        resolve(whole ?? parts?.take() ?? noBytes);
        whole = parts = undefined;
      });
      req.on('error', fail);
      res.on('close', () => {
        if (!isOver) fail(gone());
      });
    });
  } catch (cause) {
    discardRest(req);
    throw isApiError(cause) ? cause : new ApiError('BadRequest', 'the body could not be read', { cause });
  }
}

/** Returns the value of Content-Length; node has checked that it is a number. */
function lengthOf(request: IncomingMessage): number | undefined {
  const header = request.headers['content-length'];
  return header === undefined || header === '' ? undefined : Number(header);
}

function gone(): Error {
  return new Error('the connection was closed, or the response was sent');
}

/** The bytes of a body that comes in parts. */
class ArrivingBody {
  readonly #length: number | undefined;
  readonly #parts: GrowingBuffer;

  /** @param hold counts the memory of the body; it may throw */
  constructor(length: number | undefined, hold: (bytes: number) => void) {
    this.#length = length;
    this.#parts = new GrowingBuffer(maxBodyBytes, hold);
  }

  /** @throws ApiError 413 over the limit, and what `hold` throws */
  add(chunk: Buffer): void {
    if (this.#parts.length + chunk.length > maxBodyBytes) throw tooLarge();
    this.#parts.add(chunk, this.#length);
  }

  take(): Buffer {
    return this.#parts.take();
  }
}

const noBytes = Buffer.alloc(0);

/** Decompresses a body. The bound of the output bounds the work, too; beyond it the client gets a 413. */
async function decode(sent: Buffer, decoder: (typeof decoders)['gzip']): Promise<Buffer> {
  try {
    return await decoder(sent, { maxOutputLength: maxBodyBytes });
  } catch (cause) {
    if (cause instanceof Error && Reflect.get(cause, 'code') === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    throw new ApiError('BadRequest', 'the body does not match its Content-Encoding', { cause });
  }
}

function tooLarge(): ApiError {
  return new ApiError('RequestEntityTooLarge', `Request entity too large: limit is ${maxBodyBytes}`);
}

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
