import { pipeline } from 'node:stream';
import { promisify } from 'node:util';
import { constants, createGzip, gzip } from 'node:zlib';
import type { Context } from 'koa';
import { leastCounted } from './answer-memory.ts';
import type { AnswerMemory } from './answer-memory.ts';
import { copiesPerTurn, cutIntoPieces, pieceBytes, PieceStream, wholeBytes } from './piece-stream.ts';

const compress = promisify(gzip);

/**
 * The number of bytes from which a response is compressed. Smaller responses are faster uncompressed. Kubernetes has
 * the same limit.
 */
const leastCompressed = 128 * 1024;

/** The memory of a body that is produced while the client reads it: some pieces, and the compressor. */
const streamBytes = 4 * pieceBytes;

/**
 * The options of gzip. The level is 1, as in Kubernetes: lists are repetitive, so this level saves most of their bytes.
 */
const gzipOptions = { level: constants.Z_BEST_SPEED, chunkSize: 64 * 1024 } as const;

/**
 * Counts the memory of large responses. Compresses reads of at least 128 KiB for clients that accept gzip, and sends
 * responses of more than 1 MiB in pieces, at the client's pace. Streams (watches, endpoints, exports, assets) are not
 * affected.
 */
export async function sendLargeAnswer(context: Context, memory: AnswerMemory): Promise<void> {
  if (sizeOf(context.body) >= leastCounted) await sendLarge(context, memory);
}

function sizeOf(body: unknown): number {
  if (body instanceof Buffer || typeof body === 'string') return body.length;
  return body instanceof PieceStream ? Number.POSITIVE_INFINITY : 0;
}

async function sendLarge(context: Context, memory: AnswerMemory): Promise<void> {
  const isRead = context.method === 'GET' || context.method === 'HEAD';
  if (typeof context.body === 'string') context.body = Buffer.from(context.body);
  const bytes = context.body instanceof Buffer ? context.body.length : streamBytes;
  // `hold` may refuse a response (503), `count` never does. The response to a write is only counted: the write is
  // already done, and after a refusal the client would repeat it.
  if (isRead) memory.hold(context, bytes);
  else memory.count(context, bytes);
  if (isRead && isCompressible(context)) await sendCompressed(context);
  cutLarge(context);
}

function isCompressible({ body, res }: Context): boolean {
  if (sizeOf(body) < leastCompressed || res.hasHeader('Content-Encoding')) return false;
  return !/\bno-transform\b/.test(String(res.getHeader('Cache-Control')));
}

async function sendCompressed(context: Context): Promise<void> {
  context.vary('Accept-Encoding');
  if (context.acceptsEncodings('gzip', 'identity') !== 'gzip') return;
  // A strong ETag is made weak, because it would promise that the bytes are the same with and without gzip.
  const tag = context.res.getHeader('ETag');
  if (typeof tag === 'string' && tag.startsWith('"')) context.set('ETag', `W/${tag}`);
  context.set('Content-Encoding', 'gzip');
  const { body } = context;
  if (body instanceof Buffer) context.body = await compress(body, gzipOptions);
  // The callback ignores an error: koa receives it from the stream that it sends, and closes the connection.
  else if (body instanceof PieceStream) context.body = pipeline(body, createGzip(gzipOptions), () => undefined);
}

/**
 * Splits a large body into pieces. If it were written as a whole, Node could not distinguish a slow client from one
 * that does not read.
 */
function cutLarge(context: Context): void {
  const { body, method } = context;
  if (!(body instanceof Buffer) || body.length <= wholeBytes || method === 'HEAD') return;
  context.body = new PieceStream(cutIntoPieces(body), copiesPerTurn);
  context.length = body.length;
}
