import { createHash } from 'node:crypto';
import Router from '@koa/router';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Context, Middleware } from 'koa';
import { negotiate } from '../request/accept.ts';
import { aggregatedDiscovery, discoveryShapes } from './aggregated-discovery.ts';
import { requireRead, sendCacheable } from '../response/cacheable-answer.ts';
import type { DebugPage } from './debug-page.ts';
import { apiGroup, coreVersions, groupList, groupPaths, resourceList } from './discovery.ts';
import { serverVersion } from './version.ts';

/** The paths that the list at `/` has on every server, independent of the served kinds. */
const rootPaths = [
  '/.well-known/openid-configuration',
  '/api',
  '/apis',
  '/docs',
  '/export',
  '/healthz',
  '/livez',
  '/metrics',
  '/openapi.json',
  '/openapi/v2',
  '/openapi/v3',
  '/openid/v1/jwks',
  '/readyz',
  '/version',
];

/** The two root paths of discovery. Each serves the legacy form of discovery and the aggregated form. */
const entrances = { '/api': coreVersions, '/apis': groupList } as const;

export interface DiscoveryParts {
  readonly models: () => readonly ModelDescriptor[];
  /** The debug pages, to which pages are added while the server runs. */
  readonly debug: readonly DebugPage[];
}

type Document = (models: readonly ModelDescriptor[], params: Readonly<Record<string, string>>) => object;

const documents: Readonly<Record<string, Document>> = {
  '/version': () => serverVersion,
  '/api/:version': (models, { version = '' }) => resourceList(models, '', version),
  '/apis/:group': (models, { group = '' }) => apiGroup(models, group),
  '/apis/:group/:version': (models, { group = '', version = '' }) => resourceList(models, group, version),
};

/**
 * Serves the documents of discovery, which describe the server and the kinds that it serves. Clients may cache the
 * responses, and revalidate them (ETag).
 */
export function discoveryRoutes({ models, debug }: DiscoveryParts): Middleware {
  const router = new Router();
  const root: Document = () => ({
    paths: [...rootPaths, ...debug.map(({ name }) => `/debug/${name}`), ...groupPaths(models())].sort(),
  });
  for (const path of ['/api', '/apis'] as const) {
    router.all(path, (context) => answerEntrance(context, path, models()));
  }
  for (const [path, document] of Object.entries({ '/': root, ...documents })) {
    router.all(path, (context) => {
      requireRead(context);
      send(context, document(models(), context.params), 'application/json');
    });
  }
  return router.routes() as Middleware;
}

function answerEntrance(context: Context, path: '/api' | '/apis', models: readonly ModelDescriptor[]): void {
  requireRead(context);
  context.vary('Accept');
  const { shape } = negotiate(context.headers.accept, ['json'], discoveryShapes);
  if (shape === undefined) return send(context, entrances[path](models), 'application/json');
  const type = `application/json;g=apidiscovery.k8s.io;v=${shape};as=APIGroupDiscoveryList`;
  send(context, aggregatedDiscovery(path, models, shape), type);
}

function send(context: Context, document: object, type: string): void {
  const bytes = Buffer.from(JSON.stringify(document));
  const tag = createHash('sha256').update(bytes).digest('hex').toUpperCase();
  sendCacheable(context, { bytes, type, tag });
}
