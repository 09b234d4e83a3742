import type { Context } from 'koa';
import { booleanOf, queryOf } from '../request/query.ts';
import { JsonRewriter } from './json-rewriter.ts';
import { cutIntoPieces, PieceStream } from './piece-stream.ts';

/**
 * The maximum number of bytes of a response that is rewritten as a whole. Longer responses are rewritten in pieces
 * while the client reads them, because the indentation can make a line sixty times as long as its value.
 */
const wholeBytes = 128 * 1024;

/** Matches the User-Agent of programs with which people read responses themselves. */
const readers = /^(?:curl|Wget)\//;

const ofObject = ['metadata', 'managedFields'];
const ofList = ['items', '*', ...ofObject];

/**
 * Rewrites the JSON response to a GET of objects, so that people can read the response more easily: indents it for
 * `pretty=true`, and omits `metadata.managedFields` for `managedFields=false`. Both are the default for curl, Wget, and
 * pages that a browser opens.
 */
export function makeReadable(context: Context): void {
  const { body, method, state } = context;
  const { servedPath } = state;
  if (method !== 'GET' || servedPath === undefined) return;
  const { headers } = context.req;
  const isReader = readers.test(headers['user-agent'] ?? '') || (headers.accept ?? '').includes('text/html');
  if (!isReader && !/(?:^|&)(?:pretty|managedFields)=/.test(context.querystring)) return;
  const query = queryOf(context);
  const isIndented = booleanOf(query, 'pretty', 'GetOptions') ?? isReader;
  const hasManagedFields = booleanOf(query, 'managedFields', 'GetOptions') ?? !isReader;
  if (context.res.getHeader('Content-Type') !== 'application/json') return;
  if (!isIndented && hasManagedFields) return;
  const leftOut = servedPath.name === undefined ? ofList : ofObject;
  const rewriter = new JsonRewriter({ isIndented, leftOut: hasManagedFields ? undefined : leftOut });
  if (body instanceof PieceStream) context.body = body.rewritten(rewriter);
  else if (body instanceof Buffer && body.length > wholeBytes)
    context.body = new PieceStream(cutIntoPieces(body)).rewritten(rewriter);
  else if (body instanceof Buffer) context.body = Buffer.concat([...rewriter.push(body), ...rewriter.end()]);
}
