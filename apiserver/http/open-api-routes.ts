import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Context, Middleware } from 'koa';
import type { EndpointRoute } from '../endpoints/endpoint-route.ts';
import { OpenApiDocuments } from '../openapi/open-api-documents.ts';
import type { StoredDocument } from '../openapi/open-api-documents.ts';
import { requireRead, sendCacheable } from './cacheable-answer.ts';
import { firstOf } from './query.ts';
import { serverVersion } from './version.ts';

/** A document at its own hash never changes. Not for shared caches: who may read it is not in its address. */
const foreverByHash = 'private, max-age=31536000, immutable';

export interface OpenApiParts {
  readonly models: () => readonly ModelDescriptor[];
  readonly endpointRoutes: () => readonly EndpointRoute[];
}

/** `/openapi/v3`, what it refers to, and `/openapi.json`. Always JSON: clients that prefer protobuf read it as well. */
export function openApiRoutes({ models, endpointRoutes }: OpenApiParts): Middleware {
  const documents = new OpenApiDocuments({
    surface: () => ({ models: models(), routes: endpointRoutes() }),
    version: serverVersion['gitVersion'] ?? '',
  });
  return function answerOpenApi(context, next) {
    const path = context.path.replace(/(.)\/$/, '$1');
    const document = path.startsWith('/openapi') ? documents.at(path) : undefined;
    if (document === undefined) return next();
    requireRead(context);
    sendDocument(context, path, document);
    return undefined;
  };
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
