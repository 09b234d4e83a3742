import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { Context, Middleware } from 'koa';

const compress = promisify(gzip);

/** What is smaller leaves faster as it is: Kubernetes' own bound. */
const leastBytes = 128 * 1024;

/**
 * Compresses large answers to reads for clients that take gzip. Streams (watches, those of endpoints) write their own answers
 * and pass by. Level 1, as Kubernetes: lists are repetitive, and most of it is gained there.
 */
export function compressLarge(): Middleware {
  return function compressAnswer(context, next): Promise<unknown> {
    if (context.method !== 'GET' && context.method !== 'HEAD') return next();
    // Most clients that ask for small things ask for gzip, too: what they pay is this one step.
    return next().then(() => (isLarge(context) ? sendCompressed(context) : undefined));
  };
}

function isLarge({ body, res }: Context): boolean {
  if (!(body instanceof Buffer) || body.length < leastBytes) return false;
  return !res.hasHeader('Content-Encoding') && !/\bno-transform\b/.test(String(res.getHeader('Cache-Control')));
}

async function sendCompressed(context: Context): Promise<void> {
  context.vary('Accept-Encoding');
  if (context.acceptsEncodings('gzip', 'identity') !== 'gzip') return;
  // A strong tag would promise the same bytes to those who take no gzip.
  const tag = context.res.getHeader('ETag');
  if (typeof tag === 'string' && tag.startsWith('"')) context.set('ETag', `W/${tag}`);
  context.set('Content-Encoding', 'gzip');
  context.body = await compress(context.body as Buffer, { level: constants.Z_BEST_SPEED });
}
