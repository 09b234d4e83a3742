import Router from '@koa/router';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import Koa from 'koa';
import type { Context, Middleware } from 'koa';
import type { Resource } from '../registry/resource.ts';
import { answerTogether } from './answer-together.ts';
import { bearerToken } from './bearer-token.ts';
import { debugRoutes } from './debug-pages.ts';
import type { DebugPage } from './debug-pages.ts';
import { apiGroup, coreVersions, groupList, resourceList } from './discovery.ts';
import { docsRoutes } from './docs-routes.ts';
import { endpointRoutes } from './endpoint-routes.ts';
import type { EndpointParts } from './endpoint-routes.ts';
import { errorResponses } from './error-responses.ts';
import type { ExportHandler } from './export-handler.ts';
import { healthReport, withoutTrailingSlash } from './health.ts';
import type { HealthCheck } from './health.ts';
import { openApiRoutes } from './open-api-routes.ts';
import { originGuard } from './origin-guard.ts';
import { allOf } from './query.ts';
import { requestId } from './request-id.ts';
import { pathNotFound } from './resource-handler.ts';
import type { ResourceHandler } from './resource-handler.ts';
import { parseResourcePath } from './resource-path.ts';
import { sendJson } from './responses.ts';
import { serverVersion } from './version.ts';

export interface AppParts extends EndpointParts {
  readonly resources: ResourceHandler;
  readonly exports: ExportHandler;
  /** The kind at a path, ready to serve; undefined when there is none. Throws ServiceUnavailable while it is indexed. */
  readonly find: (group: string, version: string, plural: string) => Resource | undefined;
  readonly models: () => readonly ModelDescriptor[];
  readonly live: readonly HealthCheck[];
  readonly ready: readonly HealthCheck[];
  readonly debug: readonly DebugPage[];
  readonly hostNames: readonly string[];
  /** What every request but health has to bear; undefined: all are let in. */
  readonly token: string | undefined;
  readonly uuid: () => string;
}

/** Every middleware, in order: errors, request id, limits, authentication, routes. */
export function createApp(parts: AppParts): Koa {
  const app = new Koa();
  app.use(answerTogether());
  app.use(errorResponses(parts.logger));
  app.use(requestId(parts.uuid));
  app.use(originGuard(parts.hostNames));
  if (parts.token !== undefined) app.use(bearerToken(parts.token));
  app.use(resourceRoutes(parts));
  app.use(endpointRoutes(parts));
  app.use(healthRoutes(parts));
  app.use(debugRoutes(parts.debug));
  app.use(exportRoute(parts));
  app.use(documentRoutes(parts).routes());
  app.use(openApiRoutes({ models: parts.models, endpointRoutes: () => parts.endpoints.routes() }));
  app.use(docsRoutes());
  app.use(() => Promise.reject(pathNotFound()));
  // What koa itself reports: a watcher that hangs up, a connection that breaks while an answer is written.
  app.on('error', (error: unknown) => parts.logger.debug({ err: error }, 'connection ended'));
  return app;
}

/** The hot path: a lookup in a table, no route per kind. */
function resourceRoutes(parts: AppParts): Middleware {
  return function routeResource(context, next) {
    const path = parseResourcePath(context.path);
    if (path === undefined) return next();
    if (parts.stopping()) throw shuttingDown();
    const resource = parts.find(path.group, path.version, path.plural);
    if (resource === undefined) return next();
    if (
      (path.namespace !== undefined) !== (resource.model.scope === 'Namespaced') &&
      (path.namespace !== undefined || needsNamespace(context, path.name))
    ) {
      throw pathNotFound();
    }
    return parts.resources.handle(context, path, resource);
  };
}

/** Lists and watches of a Namespaced kind may span all namespaces; everything else names one. */
function needsNamespace(context: Context, name: string | undefined): boolean {
  return name !== undefined || context.method === 'POST';
}

function exportRoute({ exports, stopping }: AppParts): Middleware {
  return function answerExport(context, next) {
    if (withoutTrailingSlash(context.path) !== '/export') return next();
    if (context.method !== 'GET') refuseMethod(context);
    if (stopping()) throw shuttingDown();
    return exports.handle(context);
  };
}

function healthRoutes({ live, ready, stopping }: AppParts): Middleware {
  const shutdown: HealthCheck = {
    name: 'shutdown',
    check: () => (stopping() ? 'the server is shutting down' : undefined),
  };
  // Ready checks come and go while the server runs, so the list is read at each request.
  const checks: Readonly<Record<string, () => readonly HealthCheck[]>> = {
    '/livez': () => live,
    '/healthz': () => live,
    '/readyz': () => [...ready, shutdown],
  };
  return function answerHealth(context, next) {
    const path = withoutTrailingSlash(context.path);
    const found = Object.hasOwn(checks, path) ? checks[path] : undefined;
    if (found === undefined) return next();
    if (context.method !== 'GET' && context.method !== 'HEAD') refuseMethod(context);
    const query = { verbose: context.query['verbose'] !== undefined, exclude: allOf(context.query, 'exclude') };
    const report = healthReport(path.slice(1), found(), query);
    context.status = report.healthy ? 200 : 503;
    context.type = 'text/plain';
    context.set('Cache-Control', 'no-cache, private');
    context.body = report.text;
    return undefined;
  };
}

const rootPaths = [
  '/api',
  '/apis',
  '/debug/controllers',
  '/docs',
  '/export',
  '/healthz',
  '/livez',
  '/openapi.json',
  '/openapi/v3',
  '/readyz',
  '/version',
];

function documentRoutes({ models }: AppParts): Router {
  const router = new Router();
  const documents: Readonly<Record<string, (context: { params: Record<string, string> }) => object>> = {
    '/': () => ({ paths: rootPaths }),
    '/version': () => serverVersion,
    '/api': () => coreVersions(models()),
    '/api/:version': ({ params }) => resourceList(models(), '', params['version'] as string),
    '/apis': () => groupList(models()),
    '/apis/:group': ({ params }) => apiGroup(models(), params['group'] as string),
    '/apis/:group/:version': ({ params }) =>
      resourceList(models(), params['group'] as string, params['version'] as string),
  };
  for (const [path, document] of Object.entries(documents))
    router.get(path, (context) => sendJson(context, document(context)));
  for (const path of Object.keys(documents)) router.all(path, refuseMethod);
  return router;
}

function refuseMethod(context: Context): never {
  throw new ApiError(
    'MethodNotAllowed',
    `${context.method.toLowerCase().slice(0, 16)} is not supported on ${context.path}`,
  );
}

function shuttingDown(): ApiError {
  return new ApiError('ServiceUnavailable', 'the server is shutting down', { retryAfterSeconds: 1 });
}
