import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { route, ServerResponse } from '@homeostat/apiserver/endpoints';
import { expect } from 'chai';
import { TestServer } from './support/servers/test-server.ts';

const source = fileURLToPath(new URL('../../apiserver/http/app.ts', import.meta.url));
const assetsFolder = fileURLToPath(new URL('../support/models', import.meta.url));
const authorization = 'Bearer administrators-token';

/** A request, with the RBAC rule that allows only this request. */
interface Asked {
  readonly method: string;
  readonly path: string;
  readonly rule: object;
  /**
   * The status for a user with the permission. Default: 200, 201, or one of several 4xx without 401 and 403, because
   * most objects of the test do not exist.
   */
  readonly status?: number;
}

/** Requests to pages, by the middleware of the server that handles them. A new middleware must be added here. */
const pages: Readonly<Record<string, readonly Asked[]>> = {
  // These middlewares serve no page: they surround each request, check its permission, or set headers.
  aroundRequests: [],
  guardRequests: [],
  pageHeaders: [],
  // These routes need no authentication, because users log in by them. The test of open paths covers them.
  loginRoutes: [],
  // These requests need the permission to get the object. The tests below send further requests: those for each kind
  // that discovery lists, and those for the routes of plugins.
  resourceRoutes: [
    ofObject('clusterroles/admin/history'),
    ofObject('clusterroles/admin/explanation'),
    ofObject('clusterroles/admin/dependents'),
    ofObject('clusterroles/admin?resourceVersion=20&resourceVersionMatch=Exact'),
  ],
  endpointRoutes: [],
  healthRoutes: [],
  debugRoutes: [page('/debug/example'), page('/debug/stuck')],
  metricsRoute: [page('/metrics')],
  exportRoute: [page('/export')],
  // The status is 400, because a server with its database in memory has no backup.
  backupRoute: [{ ...page('/backup'), status: 400 }],
  reencryptRoute: [
    { method: 'POST', path: '/reencrypt', rule: { nonResourceURLs: ['/reencrypt'], verbs: ['post'] }, status: 200 },
  ],
  discoveryRoutes: ['/api', '/api/v1', '/apis', '/apis/people.example.com', '/version'].map((path) => page(path)),
  openApiRoutes: ['/openapi/v2', '/openapi/v3', '/openapi/v3/api/v1', '/openapi.json'].map((path) => page(path)),
  docsRoutes: ['/docs', '/docs/initializer.js', '/docs/swagger-ui.css'].map((path) => page(path)),
  issuerRoutes: ['/openid/v1/jwks', '/.well-known/openid-configuration'].map((path) => page(path)),
  assetRoutes: [page('/plugins/demo/assets/models.ts')],
};

function page(path: string): Asked {
  return { method: 'GET', path, rule: { nonResourceURLs: [path], verbs: ['get'] }, status: 200 };
}

function ofObject(path: string, status = 200): Asked {
  const apiGroups = ['rbac.authorization.k8s.io'];
  const rule = { apiGroups, resources: ['clusterroles'], resourceNames: ['admin'], verbs: ['get'] };
  return { method: 'GET', path: `/apis/rbac.authorization.k8s.io/v1/${path}`, rule, status };
}

/** The paths in `pages` that the role `system:public-info-viewer` permits. All users have this role. */
const publicPaths = ['/version'];

const methods: Readonly<Record<string, string>> = {
  list: 'GET',
  watch: 'GET',
  create: 'POST',
  deletecollection: 'DELETE',
  get: 'GET',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
};

const ofCollection = ['list', 'watch', 'create', 'deletecollection'];

interface ApiResource {
  readonly name: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

/** Returns the requests for a kind or a subresource, one for each verb. The requests store and delete nothing. */
function requestsFor(base: string, group: string, { name, namespaced, verbs }: ApiResource): readonly Asked[] {
  const [plural = '', subresource] = name.split('/');
  const collection = `${base}${namespaced ? '/namespaces/default' : ''}/${plural}`;
  return verbs.map((verb) => {
    const isObject = subresource !== undefined || !ofCollection.includes(verb);
    const at = isObject ? `${collection}/absent${subresource === undefined ? '' : `/${subresource}`}` : collection;
    const query = verb === 'watch' ? '?watch=true&timeoutSeconds=1' : '?dryRun=All';
    const isRead = verb === 'list' || verb === 'watch';
    return {
      method: methods[verb] ?? verb,
      path: verb === 'list' || verb === 'get' ? at : at + query,
      rule: { apiGroups: [group], resources: [name], verbs: [verb] },
      ...(isRead ? { status: 200 } : {}),
    };
  });
}

/** The beginning of the source text of the last middleware, which responds with 404. */
const absence = '(context) => Promise.reject(absenceOf';

/**
 * Matches the code that puts three functions around the middlewares of `app.use`. Each function wraps the result of the
 * function before it in the code. A request passes through the last function first.
 */
const way =
  /const routes = (\w+)\(parts, inOrder\(app\.middleware\)\);\n +const guard = (\w+)\(.*, routes\);\n +return app\.listener\((\w+)\(/;

/**
 * Returns the middlewares of the server in the order in which they handle a request: the name of each, or the beginning
 * of its source text.
 */
function usedIn(text: string): readonly string[] {
  const [, ...fromEnd] = way.exec(text) ?? [];
  const others = [...text.matchAll(/app\.use\((?:new )?(.*)/g)].map(([, used = '']) =>
    used.startsWith(absence) ? absence : (/^([\w.]+)\(/.exec(used)?.[1] ?? used),
  );
  return [...fromEnd.reverse(), ...others];
}

/** Returns the middlewares that the source text of the server uses, but that have no line in {@link pages}. */
function unknownIn(text: string): readonly string[] {
  const names = usedIn(text);
  expect(names).to.have.length.above(15);
  return names.filter((name) => name !== absence && !Object.hasOwn(pages, name));
}

/** Returns the middlewares that run before the authorization, and that respond to some requests themselves. */
function unguardedIn(text: string): readonly string[] {
  const names = usedIn(text);
  expect(names).to.include('guardRequests');
  return names.slice(0, names.indexOf('guardRequests')).filter((name) => (pages[name] ?? []).length > 0);
}

describe('every route of the server', () => {
  let server: TestServer;
  let count = 0;
  const nobody = { authorization, 'Impersonate-User': 'nobody', 'Impersonate-Group': 'system:unauthenticated' };

  before(async () => {
    server = await TestServer.start({ token: 'administrators-token' });
    const owned = server.api.endpoints.forOwner('demo');
    const respond = (): ServerResponse => ServerResponse.ok().text('hello');
    const permission = { verb: 'greet', group: 'people.example.com', resource: 'persons', nameFrom: 'name' };
    owned.add(
      route('demo.example.com/v1')
        .GET('/hello', respond)
        .POST('/hello', respond)
        .GET('/persons/:name/greeting', respond, { permission })
        .build(),
    );
    owned.open();
    server.api.addDebugPage({ name: 'example', index: () => ({}), item: () => undefined });
    server.api.assets.open('demo', assetsFolder);
  });

  after(() => server.stop());

  /** Creates a user with only one permission, and returns the headers of the user's requests. */
  async function userWith(rule: object): Promise<Readonly<Record<string, string>>> {
    count += 1;
    const name = `exact-${count}`;
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    const post = async (path: string, body: object): Promise<void> => {
      const { status, text } = await server.post(`${rbac}/${path}`, body, { headers: { authorization } });
      expect(status, text).to.equal(201);
    };
    const apiVersion = 'rbac.authorization.k8s.io/v1';
    await post('clusterroles', { apiVersion, kind: 'ClusterRole', metadata: { name }, rules: [rule] });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
    const subjects = [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }];
    await post('clusterrolebindings', {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef,
      subjects,
    });
    return { ...nobody, 'Impersonate-User': name };
  }

  /**
   * Sends a request without credentials, then as a user without permissions, then as a user with only the required
   * permission.
   */
  async function ask({ method, path, rule, status: expected }: Asked): Promise<void> {
    const what = `${method} ${path}`;
    expect((await server.request(method, path)).status, what).to.equal(401);
    if (!publicPaths.includes(path))
      expect((await server.request(method, path, { headers: nobody })).status, what).to.equal(403);
    const { status, text } = await server.request(method, path, { headers: await userWith(rule) });
    if (expected !== undefined) expect(status, `${what}: ${text.slice(0, 300)}`).to.equal(expected);
    else expect(status, `${what}: ${text.slice(0, 300)}`).to.be.oneOf([200, 201, 400, 404, 405, 409, 415, 422]);
  }

  for (const [name, asked] of Object.entries(pages)) {
    for (const each of asked)
      it(`${each.path}, which the middleware ${name} serves, requires a permission`, () => ask(each));
  }

  it('requires the permission for the verb of the request, for all kinds in discovery [slow]', async () => {
    const { body } = await server.get('/apis', { authorization });
    const groups = body.groups as readonly { readonly versions: readonly { readonly groupVersion: string }[] }[];
    const versions = groups.flatMap((each) => each.versions.map(({ groupVersion }) => groupVersion));
    const requests: Asked[] = [];
    for (const [base, group] of [
      ['/api/v1', ''],
      ...versions.map((each) => [`/apis/${each}`, each.slice(0, each.indexOf('/'))]),
    ] as const) {
      const { resources } = (await server.get(base, { authorization })).body as { resources: readonly ApiResource[] };
      requests.push(...resources.flatMap((resource) => requestsFor(base, group, resource)));
    }
    expect(requests).to.have.length.above(80);
    // Each watch lasts for a second, so the test runs all watches at the same time.
    const [watches, others] = [true, false].map((is) =>
      requests.filter(({ path }) => path.includes('watch=true') === is),
    );
    await Promise.all(watches!.map(ask));
    for (const each of others!) await ask(each);
  });

  it('requires, for a route of a plugin, the permission for its path or for the resource that the route names', async () => {
    const routes = server.api.endpoints.routes();
    expect(routes).to.have.length(3);
    for (const { method, path } of routes) {
      const at = path.replace('{name}', 'ada');
      const verbs = [method.toLowerCase()];
      const rule = path.includes('{name}')
        ? { apiGroups: ['people.example.com'], resources: ['persons'], resourceNames: ['ada'], verbs: ['greet'] }
        : { nonResourceURLs: [at], verbs };
      await ask({ method, path: at, rule, status: 200 });
    }
  });

  it('needs credentials, except for health checks and the login', async () => {
    for (const path of ['/livez', '/readyz', '/healthz', '/login', '/login/login.css', '/login/login.js'])
      expect((await server.get(path)).status, path).to.equal(200);
    for (const path of ['/login/oidc/nowhere', '/login/oidc/nowhere/callback'])
      expect((await server.get(path)).status, path).to.equal(404);
    const wrong = await server.post('/login', { user: 'ada', password: 'wrong' });
    expect(wrong.status).to.equal(401);
    for (const path of [
      '/',
      '/livez/x',
      '/nowhere',
      '/openid/v1/jwks',
      '/favicon.ico',
      '/login/x',
      '/loginx',
      '/login/oidc',
      '/login/oidc/x/y',
    ])
      expect((await server.get(path)).status, path).to.equal(401);
  });

  it('is not revealed: a path that does not exist also returns 403 to a user without permissions', async () => {
    for (const path of ['/nowhere', '/apis/none.example.com/v1/things', '/debug/none', '/plugins/none/assets/x']) {
      const { status, body } = await server.get(path, nobody);
      expect(status, path).to.equal(403);
      expect(body.message).to.match(/forbidden: User "nobody" cannot (get|list) (path|resource)/);
    }
  });
});

describe('every middleware of the server', () => {
  it('is listed in this test, and runs after the authorization if it responds to requests itself', () => {
    const text = readFileSync(source, 'utf8');
    expect(unknownIn(text)).to.deep.equal([]);
    expect(unguardedIn(text)).to.deep.equal([]);
  });

  it('is reported when the list `pages` of this test lacks it, or when it responds to requests before the authorization', () => {
    const text = readFileSync(source, 'utf8');
    const planted = (line: string, before: string): string => text.replace(before, `${line}\n  ${before}`);
    const last = 'app.use(assetRoutes(';
    for (const line of [
      'app.use(plantedRoutes(parts));',
      'app.use(new PlantedRoutes(parts).middleware());',
      'app.use(plantedRoute);',
      'app.use((context, next) => answer(context, next));',
      'app.use(async function planted(context) {});',
    ])
      expect(unknownIn(planted(line, last)), line).to.have.length(1);
    expect(unguardedIn(text.replace('app.listener(aroundRequests(', 'app.listener(metricsRoute('))).to.deep.equal([
      'metricsRoute',
    ]);
  });
});
