import { ApiError } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Metrics } from '@homeostat/controller-runtime/telemetry';
import type { Context, Middleware } from 'koa';
import type { AssetTable } from '../assets/asset-table.ts';
import type { AccountIssuer } from '../identity/accounts/account-issuer.ts';
import type { AuditTrail } from '../audit/audit-trail.ts';
import type { Authenticator } from '../identity/authenticator.ts';
import { anonymous } from '../identity/user-info.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { People } from '../people/people.ts';
import { aroundRequests } from './around-requests.ts';
import type { AroundParts } from './around-requests.ts';
import { assetRoutes } from './pages/asset-routes.ts';
import { RequestAuditor } from './guards/audit-requests.ts';
import { guardRequests } from './guards/guard-requests.ts';
import { inOrder, LeanKoa } from './response/lean-koa.ts';
import type { Handle } from './response/lean-koa.ts';
import { requireRead } from './response/cacheable-answer.ts';
import { debugRoutes } from './pages/debug-pages.ts';
import type { DebugPage } from './pages/debug-page.ts';
import { discoveryRoutes } from './pages/discovery-routes.ts';
import { docsRoutes } from './pages/docs-routes.ts';
import { endpointRoutes } from './pages/endpoint-routes.ts';
import type { EndpointParts } from './pages/endpoint-routes.ts';
import type { BackupHandler } from './objects/backup-handler.ts';
import type { ExportHandler } from './objects/export-handler.ts';
import { healthReport, withoutTrailingSlash } from './pages/health.ts';
import type { HealthCheck, HealthReport } from './pages/health.ts';
import { loginRoutes } from './pages/login-routes.ts';
import { pageHeaders } from './pages/page-headers.ts';
import { issuerRoutes } from './pages/issuer-routes.ts';
import { metricsRoute } from './observe-requests.ts';
import { openApiRoutes } from './pages/open-api-routes.ts';
import { resourcePathOf } from './request/resource-path.ts';
import { allOf } from './request/query.ts';
import { RefusalLog } from './request/refusal-log.ts';
import type { Connections, FairShareParts } from './guards/fair-share.ts';
import { pathNotFound, refuseMethod } from './request/path-errors.ts';
import type { ReencryptHandler } from './objects/reencrypt-handler.ts';
import type { ResourceHandler } from './objects/resource-handler.ts';
import { parseResourcePath } from './request/resource-path.ts';
import type { ResourcePath } from './request/resource-path.ts';
import type { ApiServiceHandler } from './objects/api-service-handler.ts';
import type { ReviewHandler } from './objects/review-handler.ts';

export interface AppParts extends EndpointParts, FairShareParts, AroundParts {
  readonly connections: Connections;
  readonly resources: ResourceHandler;
  readonly reviews: ReviewHandler;
  readonly apiServices: ApiServiceHandler;
  readonly exports: ExportHandler;
  readonly backups: BackupHandler;
  readonly reencryption: ReencryptHandler;
  readonly table: ResourceTable;
  /**
   * Returns the error (503) for a kind that was served before, is not served now, and will be served again; undefined
   * for any other kind.
   */
  readonly refusalOf: (kind: Pick<ResourcePath, 'group' | 'plural'>) => ApiError | undefined;
  readonly models: () => readonly ModelDescriptor[];
  readonly assets: AssetTable;
  readonly live: readonly HealthCheck[];
  readonly ready: readonly HealthCheck[];
  readonly debug: readonly DebugPage[];
  readonly hostNames: readonly string[];
  /** The domain of the server's own kinds. */
  readonly serviceDomain: string;
  readonly authenticator: Authenticator;
  readonly people: People;
  readonly accountIssuer: AccountIssuer;
  /** The audit log. If it is absent, requests are not audited. */
  readonly audit?: AuditTrail | undefined;
  readonly uuid: () => string;
  readonly metrics: Metrics;
  readonly gatherMetrics: (own: string) => string | Promise<string>;
}

/**
 * Returns the handler of all requests. Its parts are, in this order: the work before and after each request (its id,
 * metrics, audit entry and errors), the guards (authentication, authorization), the handlers of objects, and all other
 * routes.
 */
export function createApp(parts: AppParts): ReturnType<LeanKoa['listener']> {
  const app = new LeanKoa();
  const auditor = parts.audit === undefined ? undefined : new RequestAuditor(parts.audit, parts.proxies);
  const refusals = new RefusalLog(parts);
  const guarded = {
    isKind: (path: ResourcePath) => isKind(parts, path),
    providers: () => parts.people.issuers.offers(),
  };
  app.use(pageHeaders(parts.proxies));
  app.use(loginRoutes({ ...parts, refusals }));
  app.use(endpointRoutes(parts));
  app.use(healthRoutes(parts));
  app.use(debugRoutes(parts.debug));
  app.use(metricsRoute(parts));
  app.use(exportRoute(parts));
  app.use(backupRoute(parts));
  app.use(reencryptRoute(parts));
  app.use(issuerRoutes(parts.accountIssuer));
  app.use(discoveryRoutes(parts));
  app.use(openApiRoutes({ models: parts.models, endpointRoutes: () => parts.endpoints.routes() }));
  app.use(docsRoutes(parts.serviceDomain));
  app.use(assetRoutes(parts.assets));
  app.use((context) => Promise.reject(absenceOf(context.path, parts)));
  // koa emits this event when, for example, a watching client disconnects, or a connection breaks while a response is
  // written.
  app.on('error', (error: unknown) => parts.logger.debug({ err: error }, 'connection ended'));
  const routes = resourceRoutes(parts, inOrder(app.middleware));
  const guard = guardRequests({ ...parts, ...guarded, auditor, refusals }, routes);
  return app.listener(aroundRequests(parts, auditor, guard));
}

/**
 * Handles requests for objects. It makes one lookup in a table, instead of having a route for each kind, because most
 * requests take this path.
 */
function resourceRoutes(parts: AppParts, others: Handle): (context: Context) => Promise<void> | void {
  return function routeResource(context) {
    const path = resourcePathOf(context);
    if (path === undefined) return others(context);
    if (parts.connections.isStopping) throw shuttingDown();
    const resource = parts.table.find(path.group, path.version, path.plural);
    const model = resource?.model ?? parts.reviews.find(path) ?? parts.apiServices.find(path);
    if (model === undefined) return others(context);
    context.state.servedPath = path;
    if (
      (path.namespace !== undefined) !== (model.scope === 'Namespaced') &&
      (path.namespace !== undefined || needsNamespace(context, path.name))
    ) {
      throw pathNotFound();
    }
    if (resource !== undefined) return parts.resources.handle(context, path, resource);
    if (parts.apiServices.find(path) !== undefined) return parts.apiServices.handle(context, path);
    return parts.reviews.handle(context, path, model);
  };
}

/** True for the path of a kind, even if the kind is not ready. */
function isKind({ table, reviews, apiServices }: AppParts, path: ResourcePath): boolean {
  try {
    return (
      (table.find(path.group, path.version, path.plural) ?? reviews.find(path) ?? apiServices.find(path)) !== undefined
    );
  } catch {
    return true;
  }
}

/**
 * Returns the error for a path that is not served: 503 for a kind that plugins or definitions will serve again,
 * otherwise 404.
 */
function absenceOf(path: string, { refusalOf }: AppParts): ApiError {
  const kind = parseResourcePath(path);
  return (kind && refusalOf(kind)) ?? pathNotFound();
}

/**
 * True for requests that must name a namespace. As in Kubernetes, only lists and watches of a Namespaced kind may be
 * about all namespaces.
 */
function needsNamespace({ method }: Context, name: string | undefined): boolean {
  return name !== undefined || method === 'POST' || method === 'DELETE';
}

function exportRoute({ exports, connections }: AppParts): Middleware {
  return function answerExport(context, next) {
    const path = withoutTrailingSlash(context.path);
    if (path !== '/export' && path !== '/export/decrypted') return next();
    if (context.method !== 'GET') refuseMethod(context, ['GET']);
    if (connections.isStopping) throw shuttingDown();
    return exports.handle(context, path === '/export/decrypted');
  };
}

function backupRoute({ backups, connections }: AppParts): Middleware {
  return function answerBackup(context, next) {
    if (withoutTrailingSlash(context.path) !== '/backup') return next();
    if (context.method !== 'GET') refuseMethod(context, ['GET']);
    if (connections.isStopping) throw shuttingDown();
    return backups.handle(context);
  };
}

function reencryptRoute({ reencryption, connections }: AppParts): Middleware {
  return function answerReencrypt(context, next) {
    if (withoutTrailingSlash(context.path) !== '/reencrypt') return next();
    if (context.method !== 'POST') refuseMethod(context, ['POST']);
    if (connections.isStopping) throw shuttingDown();
    return reencryption.handle(context);
  };
}

function healthRoutes({ live, ready, connections, authenticator }: AppParts): Middleware {
  const shutdown: HealthCheck = {
    name: 'shutdown',
    check: () => (connections.isStopping ? 'the server is shutting down' : undefined),
  };
  // The list is read at each request, because ready checks are added and removed while the server runs.
  const checks: Readonly<Record<string, () => readonly HealthCheck[]>> = {
    '/livez': () => live,
    '/healthz': () => live,
    '/readyz': () => [...ready, shutdown],
  };
  return async function answerHealth(context, next) {
    const path = withoutTrailingSlash(context.path);
    const found = Object.hasOwn(checks, path) ? checks[path] : undefined;
    if (found === undefined) {
      await next();
      return;
    }
    requireRead(context);
    const verbose = context.query['verbose'] !== undefined;
    const query = { verbose, exclude: allOf(context.query, 'exclude') };
    const reportOf = (hasReasons: boolean): HealthReport =>
      healthReport(path.slice(1), found(), { ...query, hasReasons });
    const short = reportOf(false);
    const report = !short.healthy && (await isKnown(authenticator, context)) ? reportOf(true) : short;
    context.status = report.healthy ? 200 : 503;
    context.type = 'text/plain';
    context.set('Cache-Control', 'no-cache, private');
    context.body = report.text;
  };
}

/**
 * True for a request with a valid credential. False if the credential cannot be checked, because the database does not
 * respond.
 */
async function isKnown(authenticator: Authenticator, { req }: Context): Promise<boolean> {
  try {
    const user = await authenticator.ofRequest(req);
    return user !== undefined && user !== anonymous;
  } catch {
    return false;
  }
}

function shuttingDown(): ApiError {
  return new ApiError('ServiceUnavailable', 'the server is shutting down', { retryAfterSeconds: 1 });
}
