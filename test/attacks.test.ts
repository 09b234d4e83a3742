import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { route, ServerResponse } from '@homeostat/apiserver/endpoints';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { TestServer } from './support/servers/test-server.ts';

const token = 'administrators-token';
const eveToken = 'token-of-the-user-who-attacks';
const authorization = `Bearer ${token}`;
const eve = { authorization: `Bearer ${eveToken}` };
const secrets = '/api/v1/namespaces/default/secrets';
const base = '/apis/demo.example.com/v1';
const hidden = 'hidden-answer';
/** The values of the Secrets in base64, as in responses. */
const [allowedValue, otherValue] = ['value-of-allowed', 'value-of-other'].map((text) =>
  Buffer.from(text).toString('base64'),
);

/** All permissions of eve. */
const rules = [
  { nonResourceURLs: [`${base}/public/*`, '/debug/public/*', '/export/x/*'], verbs: ['get'] },
  { apiGroups: ['people.example.com'], resources: ['persons'], resourceNames: ['ada'], verbs: ['greet'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] },
  { apiGroups: [''], resources: ['secrets'], resourceNames: ['allowed'], verbs: ['*'] },
  { apiGroups: [''], resources: ['users'], resourceNames: ['system:serviceaccount:default:robot'], verbs: ['*'] },
];

describe('a user with few permissions', () => {
  let server: TestServer;
  let folder: string;
  let logFile: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'attacks-'));
    logFile = join(folder, 'audit.log');
    const tokenFile = join(folder, 'tokens.yaml');
    const sha256 = createHash('sha256').update(eveToken).digest('hex');
    await writeFile(tokenFile, `tokens: [{ user: eve, groups: [users], sha256: ${sha256} }]\n`, { mode: 0o600 });
    server = await TestServer.start({ token, tokenFile, audit: { logFile } });
    const owned = server.api.endpoints.forOwner('demo');
    const respond = (): ServerResponse => ServerResponse.ok().text(hidden);
    const permission = { verb: 'greet', group: 'people.example.com', resource: 'persons', nameFrom: 'name' };
    owned.add(
      route('demo.example.com/v1')
        .GET('/hello', respond)
        .POST('/hello', respond)
        .DELETE('/hello', respond)
        .GET('/public/:name', () => ServerResponse.ok().text('public'))
        .GET('/persons/:name/greeting', respond, { permission })
        .build(),
    );
    owned.open();
    server.api.addDebugPage({ name: 'example', index: () => ({ hidden }), item: () => undefined });
    for (const name of ['allowed', 'other']) {
      const body = { metadata: { name, labels: { label: name } }, stringData: { value: `value-of-${name}` } };
      expect((await server.post(secrets, body, { headers: { authorization } })).status).to.equal(201);
    }
    await grant('eve', rules);
  });

  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  async function grant(user: string, granted: readonly object[]): Promise<void> {
    const apiVersion = 'rbac.authorization.k8s.io/v1';
    const apiGroup = 'rbac.authorization.k8s.io';
    const metadata = { name: user };
    const roleRef = { apiGroup, kind: 'ClusterRole', name: user };
    const subjects = [{ kind: 'User', name: user, apiGroup }];
    for (const [plural, object] of [
      ['clusterroles', { apiVersion, kind: 'ClusterRole', metadata, rules: granted }],
      ['clusterrolebindings', { apiVersion, kind: 'ClusterRoleBinding', metadata, roleRef, subjects }],
    ] as const) {
      const { status, text } = await server.post(`/apis/${apiVersion}/${plural}`, object, {
        headers: { authorization },
      });
      expect(status, text).to.equal(201);
    }
  }

  async function expectRefused(method: string, path: string, headers: Readonly<Record<string, string>> = {}) {
    const { status, text } = await server.request(method, path, { headers: { ...eve, ...headers } });
    expect(status, `${method} ${path}: ${text.slice(0, 200)}`).to.be.oneOf([400, 403, 404, 405]);
    expect(text, `${method} ${path}`).not.to.include(hidden).and.not.include(otherValue);
  }

  it('cannot reach a forbidden endpoint or page by another spelling of its path', async () => {
    for (const path of [
      `${base}/hello`,
      `${base}/public/../hello`,
      `${base}/public/%2e%2e/hello`,
      `${base}/public/x/../../hello`,
      `${base}//hello`,
      `/${base}/hello`,
      `${base}/hello/`,
      `${base}/hello//`,
      `${base}/HELLO`,
      `${base}/%68ello`,
      `${base}/hello%2f`,
      `${base}/hello%00`,
      `${base}/hello;x=/public/`,
      `${base}/hello?/public/x`,
      `${base}/./hello`,
      `${base}/public\\..\\hello`,
      `http://localhost${base}/hello`,
      `http://localhost${base}/public/../hello`,
      `${base}/persons/bob/greeting`,
      `${base}/persons/bob/greeting?name=ada`,
      `${base}/persons/ada/../bob/greeting`,
      `${base}/persons/ada%2f..%2fbob/greeting`,
      '/debug/example',
      '/debug//example',
      '/debug/example/',
      '/debug/public/../example',
      '/debug/public/%2e%2e/example',
      '/debug/public/..%2fexample',
      '/DEBUG/example',
      '/metrics/',
      '//metrics',
      '/%6detrics',
      '/export/x/../../metrics',
      '/export/x/../decrypted',
      '/export/x/%2e%2e/decrypted',
    ])
      await expectRefused('GET', path);
    // An encoded slash is a part of the path segment, so the handler of `public` gets the request.
    const { status, text } = await server.get(`${base}/public/..%2fhello`, eve);
    expect([status, text]).to.deep.equal([200, 'public']);
    expect((await server.get(`${base}/persons/ad%61/greeting`, eve)).text).to.equal(hidden);
  });

  it('cannot read a forbidden Secret by another spelling of its path', async () => {
    expect((await server.get(`${secrets}/allowed`, eve)).text).to.include(allowedValue);
    for (const path of [
      `${secrets}/other`,
      `${secrets}/allowed/../other`,
      `${secrets}/allowed%2f..%2fother`,
      `${secrets}/%6fther`,
      `${secrets}//other`,
      `${secrets}/other/status`,
      '/api/v1/namespaces/default/configmaps/../secrets/other',
      '/api/v1/namespaces/default/configmaps/%2e%2e/secrets/other',
      '/api/v1/namespaces/default/configmaps%2f..%2fsecrets/other',
      '/api/v1//namespaces/default/secrets/other',
      '/api/v1/watch/namespaces/default/secrets/other?timeoutSeconds=1',
      '/api/v1/watch/namespaces/default/secrets?timeoutSeconds=1',
      '/apis//v1/namespaces/default/secrets/other',
      '/API/v1/namespaces/default/secrets/other',
      '/api/v1/namespaces/default/SECRETS/other',
    ])
      await expectRefused('GET', path);
    for (const as of ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList']) {
      const accept = `application/json;as=${as};v=v1;g=meta.k8s.io`;
      await expectRefused('GET', `${secrets}/other`, { accept });
      await expectRefused('GET', secrets, { accept });
    }
  });

  it('can list and watch only the objects that a rule with resourceNames names, and cannot delete a collection', async () => {
    const other = 'fieldSelector=metadata.name%3Dother';
    const allowed = 'fieldSelector=metadata.name%3Dallowed';
    for (const query of [
      '',
      `?${other}`,
      `?${other}&${allowed}`,
      '?fieldSelector=metadata.name%20in%20(allowed,other)',
      '?fieldSelector=metadata.name!%3Dallowed',
      '?fieldselector=metadata.name%3Dallowed',
      '?fieldSelector[]=metadata.name%3Dallowed',
      '?name=allowed',
      '?fieldSelector=data.value%3Dx',
    ]) {
      await expectRefused('GET', secrets + query);
      await expectRefused('GET', `${secrets}${query === '' ? '?' : `${query}&`}watch=true&timeoutSeconds=1`);
      await expectRefused('DELETE', `${secrets}${query === '' ? '?' : `${query}&`}dryRun=All`);
    }
    await expectRefused('DELETE', `${secrets}?${allowed}&dryRun=All`);
    for (const query of [`?${allowed}`, `?${allowed}&${other}`, `?${allowed}&fieldSelector=`]) {
      const { status, text } = await server.get(secrets + query, eve);
      expect(status, query).to.equal(200);
      expect(text, query).not.to.include(otherValue);
    }
  });

  it('receives only events of the objects that a rule with resourceNames names', async () => {
    const path = `${secrets}?watch=true&fieldSelector=metadata.name%3Dallowed`;
    const watch = await server.watch(path, eve);
    for (const name of ['other', 'allowed']) {
      const labels = { changed: 'yes' };
      const { status } = await server.patch(
        `${secrets}/${name}`,
        { metadata: { labels } },
        {
          headers: { authorization },
        },
      );
      expect(status).to.equal(200);
    }
    const events = await watch.count(2);
    expect(events.map(({ type, object }) => [type, object.metadata.name])).to.deep.equal([
      ['ADDED', 'allowed'],
      ['MODIFIED', 'allowed'],
    ]);
    watch.close();
  });

  it('cannot create objects by a rule with resourceNames', async () => {
    for (const metadata of [{ name: 'allowed' }, { name: 'allowed2' }, { generateName: 'allowed' }]) {
      expect((await server.post(secrets, { metadata }, { headers: eve })).status).to.equal(403);
    }
    const named = await server.post(`${secrets}/allowed`, { metadata: { name: 'allowed' } }, { headers: eve });
    expect(named.status).to.be.oneOf([403, 405]);
  });

  it('is authorized by the method and path of the request line, not by headers', async () => {
    for (const method of ['HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'POST', 'DELETE', 'PURGE']) {
      for (const path of [`${base}/hello`, `${secrets}/other`, '/metrics']) await expectRefused(method, path);
    }
    for (const [name, value] of [
      ['X-HTTP-Method-Override', 'DELETE'],
      ['X-Original-URL', `${base}/hello`],
      ['X-Rewrite-URL', '/metrics'],
      ['X-Remote-User', 'admin'],
      ['X-Remote-Group', 'system:masters'],
      ['X-Forwarded-User', 'admin'],
    ] as const) {
      const { text } = await server.get(`${base}/public/x`, { ...eve, [name]: value });
      expect(text, name).to.equal('public');
      await expectRefused('GET', `${base}/hello`, { [name]: value });
    }
  });

  it('cannot impersonate a user, a group or a service account', async () => {
    for (const headers of [
      { 'Impersonate-User': 'admin' },
      { 'Impersonate-Group': 'system:masters' },
      { 'Impersonate-User': 'system:serviceaccount:default:robot' },
      { 'Impersonate-User': 'system:apiserver' },
      { 'Impersonate-User': 'eve', 'Impersonate-Group': 'system:masters' },
    ])
      await expectRefused('GET', `${base}/public/x`, headers);
  });

  it('gets no data of the objects that it deletes if it may not list them', async () => {
    await grant('cleaner', [{ apiGroups: [''], resources: ['secrets'], verbs: ['deletecollection'] }]);
    const headers = { authorization, 'Impersonate-User': 'cleaner' };
    const { status, body, text } = await server.delete(`${secrets}?dryRun=All`, { headers });
    expect(status).to.equal(200);
    expect(body).to.include({ kind: 'Status', status: 'Success' });
    expect(text).not.to.include(otherValue).and.not.include('other');
    const master = await server.delete(`${secrets}?dryRun=All`, { headers: { authorization } });
    expect(master.body.items).to.have.length(2);
  });

  it('cannot write its own lines into the audit log', async () => {
    const forged = '{"kind":"Event","verb":"forged"}';
    const encoded = encodeURIComponent(`\n${forged}\n`);
    await server.get(`/${encoded}?x=${encoded}&fieldSelector=${encoded}`, { ...eve, 'user-agent': forged });
    await server.get(`${secrets}/${encoded}`, eve);
    await server.get(`/long/${'x'.repeat(10_000)}`, { ...eve, 'user-agent': 'y'.repeat(4000) });
    await server.post('/login', { user: `ann\n${forged}`, password: 'wrong' });
    const lines = await eventually(async () => {
      const found = (await readFile(logFile, 'utf8')).split('\n').filter((line) => line !== '');
      expect(found.at(-1)).to.include('/login');
      return found;
    });
    for (const line of lines) {
      expect(JSON.parse(line)).not.to.include({ verb: 'forged' });
      expect(line.length).to.be.below(5000);
    }
  });
});
