import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { freePort } from '../support/network/free-port.ts';
import {
  browserTimeoutMs,
  ConsoleBrowser,
  consoleFolder,
  expectAccessible,
  expectAccessibleInThemes,
  visit,
} from './console.fixture.ts';
import { Ticket, ticketsPath } from './tickets.fixture.ts';

const token = 'the-token-of-the-administrator';
const rbac = 'rbac.authorization.k8s.io/v1';
const password = 'a long password of ada';

/** The storage of the browser that scripts of the page can read. */
interface BrowserStores {
  readonly localStorage: object;
  readonly sessionStorage: object;
  readonly document: { readonly cookie: string };
}

describe('a session of the console [slow]', function () {
  this.timeout(browserTimeoutMs);
  let browser: ConsoleBrowser;
  let folder: string;
  let port: number;
  let server: TestServer;
  let page: Page;

  const startServer = async (): Promise<TestServer> =>
    startTestServer({
      plugins: [consoleFolder],
      models: [Ticket],
      token,
      port,
      database: `sqlite:${folder}/console.db`,
    });

  async function ask(method: string, path: string, body?: object): Promise<Response> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(await response.text());
    return response;
  }

  before(async function () {
    browser = await ConsoleBrowser.start(this);
    folder = mkdtempSync(join(tmpdir(), 'homeostat-console-'));
    port = await freePort();
    server = await startServer();
    const users = '/apis/iam.homeostat.internal/v1alpha1/users';
    await ask('POST', users, {
      apiVersion: 'iam.homeostat.internal/v1alpha1',
      kind: 'User',
      metadata: { name: 'ada' },
    });
    await ask('PUT', `${users}/ada/password`, { password });
    const rules = [{ apiGroups: ['tickets.example.com'], resources: ['tickets'], verbs: ['get', 'list', 'watch'] }];
    await ask('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', {
      apiVersion: rbac,
      kind: 'ClusterRole',
      metadata: { name: 'reader' },
      rules,
    });
    await ask('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      apiVersion: rbac,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'ada' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ada' }],
    });
    await server.client.create(Ticket, { metadata: { name: 'first' }, spec: { title: 'first' } });
  });

  after(async () => {
    await browser?.close();
    await server?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  afterEach(() => browser.expectQuiet());

  async function logIn(): Promise<void> {
    await page.getByLabel('User').fill('ada');
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
  }

  it('starts at the login page, which refuses a wrong password, and opens the requested page after the right one', async () => {
    page = await browser.open(`${server.url}/console/#/kinds/${ticketsPath}`);
    await page.getByLabel('User').fill('ada');
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByText('User or password is wrong.').waitFor();
    // This login uses only the keyboard.
    await page.getByLabel('User').focus();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('ada');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Control+A');
    await page.keyboard.type(password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Ticket', exact: true }).waitFor();
    await page.getByRole('link', { name: 'first', exact: true }).waitFor();
  });

  it('cannot be read by scripts', async () => {
    expect(
      await page.evaluate(() => (globalThis as unknown as { document: { cookie: string } }).document.cookie),
    ).to.equal('');
  });

  it('shows no buttons and kinds for which the user has no permission', async () => {
    expect(await page.getByRole('link', { name: 'Create' }).count()).to.equal(0);
    await visit(page, `#/objects/${ticketsPath}/-/first`);
    await page.getByRole('heading', { name: 'first', level: 1 }).waitFor();
    expect(await page.getByRole('button', { name: 'Delete…' }).count()).to.equal(0);
    await visit(page, `#/objects/${ticketsPath}/-/first?tab=edit`);
    await page.getByText('You may read this object, but not change it.').waitFor();
    expect(await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Secret' }).count()).to.equal(
      0,
    );
    await visit(page, '#/kinds/secrets');
    await page.getByRole('alert').getByText('secrets is forbidden', { exact: false }).waitFor();
    await expectAccessible(page);
  });

  it('allows what the user may do in the selected namespace; asks for a namespace if the user may not list the objects of all namespaces', async () => {
    for (const namespace of ['ours', 'theirs'])
      await ask('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch', 'delete'] }];
    const at = '/apis/rbac.authorization.k8s.io/v1/namespaces/ours';
    const metadata = { name: 'ada', namespace: 'ours' };
    await ask('POST', `${at}/roles`, { apiVersion: rbac, kind: 'Role', metadata, rules });
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ada' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'ada' };
    await ask('POST', `${at}/rolebindings`, { apiVersion: rbac, kind: 'RoleBinding', metadata, roleRef, subjects });
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'colours' } };
    await ask('POST', '/api/v1/namespaces/ours/configmaps', map);
    await visit(page, '#/kinds/configmaps');
    await page.getByText('If your permission is for one namespace').waitFor();
    await page.getByLabel('Namespace', { exact: true }).fill('ours');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'colours', exact: true }).click();
    await page.getByRole('button', { name: 'Delete…' }).waitFor();
    await visit(page, '#/kinds/configmaps?ns=theirs');
    await page.getByText('You may not do this').waitFor();
  });

  it('shows an object that the user may get but not watch, and says that it is not updated', async () => {
    const rules = [{ apiGroups: [''], resources: ['configmaps'], resourceNames: ['shown'], verbs: ['get'] }];
    const at = '/apis/rbac.authorization.k8s.io/v1/namespaces/theirs';
    const metadata = { name: 'shown', namespace: 'theirs' };
    await ask('POST', `${at}/roles`, { apiVersion: rbac, kind: 'Role', metadata, rules });
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ada' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'shown' };
    await ask('POST', `${at}/rolebindings`, { apiVersion: rbac, kind: 'RoleBinding', metadata, roleRef, subjects });
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'shown' }, data: { ink: 'green' } };
    await ask('POST', '/api/v1/namespaces/theirs/configmaps', map);
    await visit(page, '#/objects/configmaps/theirs/shown');
    await page.getByText('You may read this object, but not follow it', { exact: false }).waitFor();
    await page.getByText('green', { exact: true }).waitFor();
    await visit(page, '#/objects/configmaps/theirs/hidden');
    await page.getByText('You may not do this').waitFor();
  });

  it('leaves out cards that the user may not read, and shows a message in place of a table that the user may not read', async () => {
    await visit(page, '#/');
    await page.getByRole('region', { name: 'Objects that need attention' }).waitFor();
    for (const name of ['Warnings', 'Plugins', 'Rates'])
      expect(await page.getByRole('region', { name, exact: true }).count(), name).to.equal(0);
    await visit(page, '#/controllers');
    await page.getByText('You may not read the controllers').waitFor();
    await visit(page, '#/access');
    await page.getByRole('heading', { name: 'May a user do this?' }).waitFor();
    expect(await page.getByRole('main').getByRole('heading', { level: 2 }).allTextContents()).to.deep.equal([
      'May a user do this?',
    ]);
  });

  it('continues without a reload of the page after a restart of the server', async () => {
    await visit(page, `#/kinds/${ticketsPath}`);
    await page.getByText('live', { exact: true }).waitFor();
    await server.stop();
    await page.getByText('The connection to the server is lost.', { exact: false }).waitFor();
    server = await startServer();
    await page.getByText('live', { exact: true }).waitFor();
    await server.client.create(Ticket, { metadata: { name: 'after-restart' }, spec: { title: 'later' } });
    await page.getByRole('link', { name: 'after-restart', exact: true }).waitFor();
    expect(await page.getByText('The connection to the server is lost.', { exact: false }).count()).to.equal(0);
  });

  it('shows a kind once the server serves it, also to a user who may not watch plugins', async () => {
    let isMissing = true;
    await page.route('**/apis', async (route) => {
      const response = await route.fetch();
      const text = await response.text();
      await route.fulfill({ response, body: isMissing ? text.replaceAll('"tickets"', '"hidden"') : text });
    });
    await page.reload();
    await page.getByText('The server does not serve this kind').waitFor();
    isMissing = false;
    await page.getByText('live', { exact: true }).waitFor();
    await page.unroute('**/apis');
  });

  it('asks for the password in a dialog on the open page when the session has ended, and continues', async () => {
    await page.context().clearCookies();
    await server.client.create(Ticket, { metadata: { name: 'meanwhile' }, spec: { title: 'missed' } });
    await visit(page, '#/');
    await visit(page, `#/kinds/${ticketsPath}`);
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    await page.getByLabel('User').fill('ada');
    await page.getByLabel('Password').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('user or password is wrong').waitFor();
    await expectAccessibleInThemes(page);
    await logIn();
    await page.getByRole('link', { name: 'meanwhile', exact: true }).waitFor();
  });

  it('accepts a token in the dialog, which scripts then cannot read', async () => {
    await page.context().clearCookies();
    await visit(page, '#/');
    await visit(page, `#/kinds/${ticketsPath}`);
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    await page.getByRole('button', { name: 'Use a token' }).click();
    await expectAccessibleInThemes(page);
    await page.getByLabel('Token').fill('wrong');
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByText('the token is not valid').waitFor();
    await page.getByLabel('Token').fill(token);
    await page.keyboard.press('Enter');
    await page.getByText('admin', { exact: true }).waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    const stored = await page.evaluate(() => {
      const { localStorage, sessionStorage, document } = globalThis as unknown as BrowserStores;
      return JSON.stringify([localStorage, sessionStorage, document.cookie]);
    });
    expect(stored).not.to.include(token);
  });

  it('ends on the server when the user logs out', async () => {
    const [cookie] = await page.context().cookies();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('Log in with a token').waitFor();
    expect(await page.context().cookies()).to.deep.equal([]);
    const { status } = await fetch(`${server.url}/apis`, { headers: { cookie: `${cookie?.name}=${cookie?.value}` } });
    expect(status).to.equal(401);
    await logIn();
    await page.getByText('live', { exact: true }).waitFor();
  });

  it('names the missing permission when a permission is withdrawn while the page is open', async () => {
    await page.getByText('live', { exact: true }).waitFor();
    await ask('DELETE', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/ada');
    await page.getByText('You may not do this').waitFor();
    await page
      .getByText('cannot watch resource "tickets"', { exact: false })
      .or(page.getByText('cannot list resource "tickets"', { exact: false }))
      .first()
      .waitFor();
  });

  it('hides the buttons of a withdrawn permission once the server has refused a request', async () => {
    const rules = [{ apiGroups: ['tickets.example.com'], resources: ['tickets'], verbs: ['*'] }];
    const metadata = { name: 'writer' };
    const group = 'rbac.authorization.k8s.io';
    const roleRef = { apiGroup: group, kind: 'ClusterRole', name: 'writer' };
    const subjects = [{ apiGroup: group, kind: 'User', name: 'ada' }];
    const at = `/apis/${rbac}`;
    await ask('POST', `${at}/clusterroles`, { apiVersion: rbac, kind: 'ClusterRole', metadata, rules });
    const binding = { apiVersion: rbac, kind: 'ClusterRoleBinding', metadata, roleRef, subjects };
    await ask('POST', `${at}/clusterrolebindings`, binding);
    await page.reload();
    const button = page.getByRole('link', { name: 'Create' });
    await button.waitFor();
    await page.getByRole('link', { name: 'first', exact: true }).waitFor();
    await ask('PUT', `${at}/clusterroles/writer`, {
      apiVersion: rbac,
      kind: 'ClusterRole',
      metadata,
      rules: [{ ...rules[0], verbs: ['get', 'list', 'watch'] }],
    });
    await page.getByLabel('Select first').click();
    await page.getByRole('button', { name: 'Delete 1…' }).click();
    await page.getByText('The server would delete 0, and refuse 1.').waitFor();
    await button.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Delete 1…' }).waitFor({ state: 'detached' });
  });
});
