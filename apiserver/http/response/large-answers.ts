import { pipeline } from 'node:stream';
import { promisify } from 'node:util';
import { constants, createGzip, gzip } from 'node:zlib';
import type { Context, Middleware } from 'koa';
import { leastCounted } from './answer-memory.ts';
import type { AnswerMemory } from './answer-memory.ts';
import { copiesPerTurn, cutIntoPieces, pieceBytes, PieceStream, wholeBytes } from './piece-stream.ts';

const compress = promisify(gzip);

/** A smaller answer leaves faster as it is: Kubernetes' own bound. */
const leastCompressed = 128 * 1024;

/** What a body that is made as it is read keeps: some pieces, and what compresses them. */
const streamBytes = 4 * pieceBytes;

/** Level 1, as Kubernetes: lists are repetitive, and most of it is gained there. */
const gzipOptions = { level: constants.Z_BEST_SPEED, chunkSize: 64 * 1024 } as const;

/**
 * Counts the memory of large answers, compresses them for clients that take gzip, and sends them in pieces, as the client
 * reads them. Streams (watches, those of endpoints, exports, assets) write their own answers and pass by.
 */
export function largeAnswers(memory: AnswerMemory): Middleware {
  return function sendAnswer(context, next): Promise<unknown> {
    // Most answers are small: what they pay is this one step.
    return next().then(() => (sizeOf(context.body) < leastCounted ? undefined : sendLarge(context, memory)));
  };
}

function sizeOf(body: unknown): number {
  if (body instanceof Buffer || typeof body === 'string') return body.length;
  return body instanceof PieceStream ? Number.POSITIVE_INFINITY : 0;
}

async function sendLarge(context: Context, memory: AnswerMemory): Promise<void> {
  const isRead = context.method === 'GET' || context.method === 'HEAD';
  if (typeof context.body === 'string') context.body = Buffer.from(context.body);
  const bytes = context.body instanceof Buffer ? context.body.length : streamBytes;
  // A refusal of a write that has been done would make its client repeat it.
  if (isRead) memory.hold(context.res, bytes);
  else memory.count(context.res, bytes);
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
  // A strong tag would promise the same bytes to those who take no gzip.
  const tag = context.res.getHeader('ETag');
  if (typeof tag === 'string' && tag.startsWith('"')) context.set('ETag', `W/${tag}`);
  context.set('Content-Encoding', 'gzip');
  const { body } = context;
  if (body instanceof Buffer) context.body = await compress(body, gzipOptions);
  // What fails cuts the connection: koa hears of it from the stream that it sends.
  else context.body = pipeline(body as PieceStream, createGzip(gzipOptions), () => undefined);
}

/** In one write, node could not tell a client that reads slowly from one that does not read. */
function cutLarge(context: Context): void {
  const { body, method } = context;
  if (!(body instanceof Buffer) || body.length <= wholeBytes || method === 'HEAD') return;
  context.body = new PieceStream(cutIntoPieces(body), copiesPerTurn);
  context.length = body.length;
}
