import { controller } from '@homeostat/controller-runtime';
import { controllerModel, defineModel, runModel, silentLogger } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { definePlugin } from 'homeostat';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { consoleFolder } from './console.fixture.ts';

const token = 'the-token-of-the-administrator';
const password = 'a long password of eve';
const rbac = 'rbac.authorization.k8s.io';
const runsPath = '/apis/controllers.homeostat.internal/v1alpha1';
const notesPath = '/apis/notes.example.com/v1/namespaces';
/** Returns an error text that only users who may read the runs of the namespace may see. */
const textOf = (namespace: string): string => `the-error-text-in-${namespace}`;

const Note = defineModel({
  gvk: 'notes.example.com/v1/Note',
  plural: 'notes',
  scope: 'Namespaced',
  schema: { type: 'object', properties: {} },
} as const);

const failing = controller(Note, {
  name: 'failing',
  async reconcile({ key }) {
    throw new Error(textOf(key.namespace ?? ''));
  },
});

describe('a user who is logged in to the console, and has only the permissions that a test grants', () => {
  let server: TestServer;
  let cookie: string;

  before(async () => {
    const plugins = [consoleFolder, definePlugin({ models: [Note], controllers: [failing] })];
    server = await startTestServer({ plugins, token, reportRuns: true, logger: silentLogger });
    const user = { apiVersion: 'iam.homeostat.internal/v1alpha1', kind: 'User', metadata: { name: 'eve' } };
    await asAdmin('POST', '/apis/iam.homeostat.internal/v1alpha1/users', user);
    await asAdmin('PUT', '/apis/iam.homeostat.internal/v1alpha1/users/eve/password', { password });
    for (const name of ['red', 'blue']) {
      await asAdmin('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
      await server.client.create(Note, { metadata: { name: 'note', namespace: name } }, { namespace: name });
    }
    await eventually(async () => {
      const { items } = await server.client.list(runModel, { fieldSelector: 'result=error' });
      return ['red', 'blue'].every((name) => items.some(({ metadata }) => metadata.namespace === name));
    });
    await eventually(async () => (await server.client.list(controllerModel)).items.length > 0);
    const response = await fetch(`${server.url}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: server.url },
      body: JSON.stringify({ user: 'eve', password }),
    });
    cookie = (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    expect(cookie).not.to.equal('');
  });

  after(() => server.stop());

  async function asAdmin(method: string, path: string, body: object): Promise<void> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${server.url}${path}`, { method, headers, body: JSON.stringify(body) });
    expect(response.ok, await response.text()).to.equal(true);
  }

  async function asEve(path: string, method = 'GET'): Promise<{ readonly status: number; readonly text: string }> {
    const headers = { cookie, origin: server.url };
    const response = await fetch(`${server.url}${path}`, { method, headers });
    return { status: response.status, text: await response.text() };
  }

  /** Grants eve the permissions of a rule in one namespace. */
  async function grant(name: string, namespace: string, rule: object): Promise<void> {
    const at = `/apis/${rbac}/v1/namespaces/${namespace}`;
    const apiVersion = `${rbac}/v1`;
    const metadata = { name, namespace };
    await asAdmin('POST', `${at}/roles`, { apiVersion, kind: 'Role', metadata, rules: [rule] });
    const subjects = [{ kind: 'User', name: 'eve', apiGroup: rbac }];
    const roleRef = { apiGroup: rbac, kind: 'Role', name };
    await asAdmin('POST', `${at}/rolebindings`, { apiVersion, kind: 'RoleBinding', metadata, roleRef, subjects });
  }

  it('cannot read runs, states of controllers, pages for operators, or objects', async () => {
    for (const path of [
      `${runsPath}/runs`,
      `${runsPath}/runs?watch=true&timeoutSeconds=1`,
      `${runsPath}/namespaces/red/runs`,
      `${runsPath}/namespaces/red/runs?fieldSelector=object.name%3Dnote`,
      `${runsPath}/controllers`,
      `${runsPath}/controllers?watch=true&timeoutSeconds=1`,
      `${runsPath}/controllers/plugin-2.failing`,
      '/debug/controllers',
      '/debug/controllers/plugin-2/failing',
      '/debug/controllers/plugin-2/failing/red/note',
      '/debug/stuck',
      '/metrics',
      '/export',
      `${notesPath}/red/notes/note`,
      `${notesPath}/red/notes/note/explanation`,
      `${notesPath}/red/notes/note/history`,
      '/apis/plugin.homeostat.internal/v1alpha1/plugins',
      '/apis/events.k8s.io/v1/events',
    ]) {
      const { status, text } = await asEve(path);
      expect(status, `${path}: ${text.slice(0, 200)}`).to.equal(403);
      expect(text, path).not.to.include('the-error-text');
    }
  });

  it('gets the files of the console, which contain no data; a request without a login does not get them', async () => {
    expect((await asEve('/console/')).status).to.equal(200);
    expect((await fetch(`${server.url}/console/`)).status).to.equal(401);
    for (const path of ['/console/../plugin.yaml', '/console/%2e%2e/plugin.yaml', '/console/..%2fplugin.yaml'])
      expect((await asEve(path)).status, path).to.be.oneOf([400, 403, 404]);
  });

  it('cannot change or delete an object, delete runs or the state of a controller, or change a plugin', async () => {
    for (const [method, path] of [
      ['PATCH', `${notesPath}/red/notes/note`],
      ['DELETE', `${notesPath}/red/notes/note`],
      ['DELETE', `${runsPath}/namespaces/red/runs`],
      ['DELETE', `${runsPath}/controllers/plugin-2.failing`],
      ['PATCH', '/apis/plugin.homeostat.internal/v1alpha1/plugins/plugin-2'],
    ] as const)
      expect((await asEve(path, method)).status, `${method} ${path}`).to.equal(403);
  });

  it('sees only the runs of the namespace in which the user may read runs', async () => {
    await grant('runs', 'red', {
      apiGroups: ['controllers.homeostat.internal'],
      resources: ['runs'],
      verbs: ['get', 'list', 'watch'],
    });
    await eventually(async () => (await asEve(`${runsPath}/namespaces/red/runs`)).status === 200);
    const { text } = await asEve(`${runsPath}/namespaces/red/runs`);
    expect(text).to.include(textOf('red')).and.not.include(textOf('blue'));
    for (const path of [
      `${runsPath}/runs`,
      `${runsPath}/namespaces/blue/runs`,
      `${runsPath}/namespaces/red/../blue/runs`,
      `${runsPath}/runs?fieldSelector=metadata.namespace%3Dred`,
      `${runsPath}/runs?fieldSelector=object.namespace%3Dred`,
    ])
      expect((await asEve(path)).status, path).to.equal(403);
    const { text: crossed } = await asEve(`${runsPath}/namespaces/red/runs?fieldSelector=object.namespace%3Dblue`);
    expect(JSON.parse(crossed)).to.have.property('items').that.deep.equals([]);
  });

  it('may read the explanation of an object with the permission to get the object; without the permission to list runs, the explanation contains no errors of runs', async () => {
    await grant('notes', 'blue', { apiGroups: ['notes.example.com'], resources: ['notes'], verbs: ['get'] });
    const path = `${notesPath}/blue/notes/note/explanation`;
    await eventually(async () => (await asEve(path)).status === 200);
    expect((await asEve(path)).text).not.to.include('the-error-text');
  });
});
