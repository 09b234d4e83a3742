import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Context, Middleware } from 'koa';
import type { EndpointRoute } from '../endpoints/endpoint-route.ts';
import { OpenApiDocuments } from '../openapi/open-api-documents.ts';
import type { StoredDocument } from '../openapi/open-api-documents.ts';
import { requireRead, sendCacheable } from './cacheable-answer.ts';
import { withoutTrailingSlash } from './health.ts';
import { firstOf } from './query.ts';
import { homeostatVersion } from './version.ts';

/** A document at its own hash never changes. Not for shared caches: who may read it is not in its address. */
const foreverByHash = 'private, max-age=31536000, immutable';

export interface OpenApiParts {
  readonly models: () => readonly ModelDescriptor[];
  readonly endpointRoutes: () => readonly EndpointRoute[];
}

/**
 * `/openapi/v3`, what it refers to, `/openapi/v2` and `/openapi.json`. Always JSON: clients that prefer protobuf read it as
 * well. Those that read nothing else, kubectl to 1.28 of v2, are given a document without contents, which lets them work.
 */
export function openApiRoutes({ models, endpointRoutes }: OpenApiParts): Middleware {
  const documents = new OpenApiDocuments({
    surface: () => ({ models: models(), routes: endpointRoutes() }),
    version: homeostatVersion,
  });
  return function answerOpenApi(context, next) {
    const path = withoutTrailingSlash(context.path);
    const document = path.startsWith('/openapi') ? documents.at(path) : undefined;
    if (document === undefined) return next();
    requireRead(context);
    if (path === '/openapi/v2' && readsProtobufAlone(context.get('Accept'))) return sendEmptyProtobuf(context);
    sendDocument(context, path, document);
    return undefined;
  };
}

function readsProtobufAlone(accept: string): boolean {
  return accept.includes('proto-openapi.spec.v2') && !/json|\*\/\*/.test(accept);
}

/** Not the type as it was asked for: Go cannot read the @ in it. */
function sendEmptyProtobuf(context: Context): void {
  context.set('Cache-Control', 'no-cache, private');
  context.set('Content-Type', 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf');
  context.body = Buffer.alloc(0);
}

function sendDocument(context: Context, path: string, { bytes, hash }: StoredDocument): void {
  const asked = firstOf(context.query, 'hash');
  if (asked !== undefined && asked !== hash) {
    // Kept, two such redirects could lead to each other for ever.
    context.set('Cache-Control', 'no-cache, private');
    context.redirect(`${path}?hash=${hash}`);
    context.status = 301;
    return;
  }
  const cacheControl = asked === undefined ? {} : { cacheControl: foreverByHash };
  sendCacheable(context, { bytes, type: 'application/json', tag: hash, ...cacheControl });
}
