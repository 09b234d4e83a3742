import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Context, Middleware } from 'koa';
import type { EndpointRoute } from '../../endpoints/serving/endpoint-route.ts';
import { OpenApiDocuments } from '../../openapi/open-api-documents.ts';
import type { ServedDocument } from '../../openapi/open-api-documents.ts';
import { isFresh, requireRead, sendCacheable } from '../response/cacheable-answer.ts';
import { withoutTrailingSlash } from './health.ts';
import { firstOf } from '../request/query.ts';
import { homeostatVersion } from './version.ts';

/**
 * The Cache-Control of a document whose URL contains the document's hash: the content at this URL never changes. It is
 * `private`, because a shared cache does not check permissions.
 */
const foreverByHash = 'private, max-age=31536000, immutable';

export interface OpenApiParts {
  readonly models: () => readonly ModelDescriptor[];
  readonly endpointRoutes: () => readonly EndpointRoute[];
}

/**
 * Serves `/openapi/v3`, the documents to which it links, `/openapi/v2` and `/openapi.json`. They are JSON, also for
 * clients that prefer protobuf but can read JSON. Clients that accept only protobuf for `/openapi/v2` (kubectl up to
 * 1.28) receive an empty document, and work with it.
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

/**
 * Sends an empty protobuf document. Its Content-Type is not the requested one, because Go cannot parse the @ in that
 * type.
 */
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
    // Browsers must not cache the redirect, because two cached redirects could point to each other and form a loop.
    context.set('Cache-Control', 'no-cache, private');
    context.redirect(`${path}?hash=${hash}`);
    context.status = 301;
    return;
  }
  const cacheControl = asked === undefined ? {} : { cacheControl: foreverByHash };
  const answer = { type: 'application/json', tag: hash, ...cacheControl };
  // If-None-Match is checked first: a client that already has the document need not wait until the document is built.
  if (!isFresh(context, answer)) sendCacheable(context, { ...answer, bytes: await document.bytes() });
}
