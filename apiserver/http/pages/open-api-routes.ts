import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Context, Middleware } from 'koa';
import type { EndpointRoute } from '../../endpoints/serving/endpoint-route.ts';
import { OpenApiDocuments } from '../../openapi/open-api-documents.ts';
import type { ServedDocument } from '../../openapi/open-api-documents.ts';
import { isFresh, requireRead, sendCacheable } from '../response/cacheable-answer.ts';
import { withoutTrailingSlash } from './health.ts';
import { firstOf } from '../request/query.ts';
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
  return async function answerOpenApi(context, next) {
    const path = withoutTrailingSlash(context.path);
    if (path === '/openapi/v2' && readsProtobufAlone(context.get('Accept'))) {
      sendEmptyProtobuf(context);
      return;
    }
    const document = path.startsWith('/openapi') ? await documents.find(path) : undefined;
    if (document === undefined) {
      await next();
      return;
    }
    requireRead(context);
    await sendDocument(context, path, document);
  };
}

function readsProtobufAlone(accept: string): boolean {
  return accept.includes('proto-openapi.spec.v2') && !/json|\*\/\*/.test(accept);
}

/** Not the type as it was asked for: Go cannot read the @ in it. */
function sendEmptyProtobuf(context: Context): void {
  requireRead(context);
  context.set('Cache-Control', 'no-cache, private');
  context.set('Content-Type', 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf');
  context.body = Buffer.alloc(0);
}

async function sendDocument(context: Context, path: string, document: ServedDocument): Promise<void> {
  const { hash } = document;
  const asked = firstOf(context.query, 'hash');
  if (asked !== undefined && asked !== hash) {
    // Kept, two such redirects could lead to each other for ever.
    context.set('Cache-Control', 'no-cache, private');
    context.redirect(`${path}?hash=${hash}`);
    context.status = 301;
    return;
  }
  const cacheControl = asked === undefined ? {} : { cacheControl: foreverByHash };
  const answer = { type: 'application/json', tag: hash, ...cacheControl };
  // A client that has it already need not wait for it to be made.
  if (!isFresh(context, answer)) sendCacheable(context, { ...answer, bytes: await document.bytes() });
}
