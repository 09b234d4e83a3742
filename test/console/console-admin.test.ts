import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { end, serve } from '../support/commands/serve-command.ts';
import type { Served } from '../support/commands/serve-command.ts';
import {
  browserTimeoutMs,
  ConsoleBrowser,
  expectAccessible,
  expectAccessibleInThemes,
  takePicture,
  visit,
} from './console.fixture.ts';
import type { Theme } from './console.fixture.ts';

const token = 'the-token-of-the-administrator';
const reader = 'the-token-of-a-reader';
// Anybody who tries to log in can put any name into the audit log, also HTML.
const hostile = '<img src=x onerror=alert(1)>\u202e';

const settingsSchema = `settings:
  type: object
  properties:
    ink: { type: integer, minimum: 1, description: Litres of it }
    motto: { type: string, default: Hello, maxLength: 10 }
    scale: { type: number }
    paper: { type: string, enum: [plain, glossy] }
    fast: { type: boolean, default: true }
    place:
      type: object
      required: [room]
      properties: { room: { type: string, minLength: 1 }, floor: { type: integer } }
    notes: { x-kubernetes-preserve-unknown-fields: true }
`;

const manifest = (version: string): string => `name: stamps\nversion: ${version}\ndescription: Stamps <b>letters</b>
${settingsSchema}`;

/** Returns the archive of a plugin without kinds, as `npm pack` makes it. */
function archive(folder: string, version: string, code = 'export default {};\n'): string {
  const files = { 'plugin.yaml': manifest(version), 'package.json': '{"type":"module"}' };
  const source = join(folder, `stamps-${version}`);
  mkdirSync(join(source, 'dist'), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(source, name), text);
  writeFileSync(join(source, 'dist/index.js'), code);
  const file = join(folder, `stamps-${version}.tgz`);
  execFileSync('tar', ['--transform', 's/^[.]/package/', '-czf', file, '-C', source, '.']);
  return file;
}

describe('an administrator in the console [slow]', function () {
  this.timeout(browserTimeoutMs);
  let browser: ConsoleBrowser;
  let served: Served;
  let folder: string;
  let page: Page;

  before(async function () {
    browser = await ConsoleBrowser.start(this);
    folder = mkdtempSync(join(tmpdir(), 'homeostat-admin-'));
    mkdirSync(join(folder, 'plugins'));
    const sha256 = createHash('sha256').update(reader).digest('hex');
    writeFileSync(join(folder, 'tokens.yaml'), `tokens:\n  - user: rita\n    sha256: ${sha256}\n`, { mode: 0o600 });
    const access = ['--auth', 'required', '--token', token, '--token-file', join(folder, 'tokens.yaml')];
    const files = [
      '--plugin',
      'examples/11-console-panel',
      '--plugins-dir',
      join(folder, 'plugins'),
      '--audit-log',
      join(folder, 'audit.log'),
    ];
    served = await serve(...access, ...files, '--database', `sqlite:${folder}/console.db`);
    page = await logIn(token);
  });

  after(async () => {
    await browser?.close();
    if (served !== undefined) await end(served.child, 'SIGTERM');
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  afterEach(() => browser.expectQuiet());

  async function expectFocus(shown: Page, name: string): Promise<void> {
    const focused = shown.locator(':focus');
    expect((await focused.getAttribute('aria-label')) ?? (await focused.textContent())).to.equal(name);
  }

  async function logIn(credential: string, theme: Theme = 'light'): Promise<Page> {
    const opened = await browser.open(`${served.url}/console/`, theme);
    await opened.getByText('Log in with a token').click();
    await opened.getByLabel('Token').fill(credential);
    await opened.keyboard.press('Enter');
    await opened.getByRole('heading', { name: 'Overview' }).waitFor();
    return opened;
  }

  it('installs a plugin from a file, sees its phase, and sees the reason why another file is refused', async () => {
    await visit(page, '#/plugins');
    await page.getByRole('button', { name: 'Install…', exact: true }).click();
    const dialog = page.getByRole('dialog');
    writeFileSync(join(folder, 'broken.tgz'), '<script>alert(1)</script>');
    await dialog.getByLabel('Archive (.tgz)').setInputFiles(join(folder, 'broken.tgz'));
    await dialog.getByRole('button', { name: 'Install' }).click();
    await dialog.getByText('the archive: cannot be unpacked', { exact: false }).waitFor();
    await expectAccessibleInThemes(page);
    await dialog.getByLabel('Archive (.tgz)').setInputFiles(archive(folder, '1.0.0'));
    await dialog.getByRole('button', { name: 'Install' }).click();
    await dialog.getByText('stamps 1.0.0 is installed.').waitFor();
    await dialog.getByText('Started').waitFor();
    await expectAccessibleInThemes(page);
    await takePicture(page, 'install');
    await page.keyboard.press('Escape');
    const card = page.getByRole('region', { name: 'stamps', exact: true });
    await card.getByText('Stamps <b>letters</b>').waitFor();
    await card.getByRole('button', { name: 'Uninstall…' }).waitFor();
    // A plugin in the options of the server is not in the folder of installed plugins, so it cannot be uninstalled.
    const task = page.getByRole('region', { name: 'task', exact: true });
    await task.getByRole('button', { name: 'Reload' }).waitFor();
    expect(await task.getByRole('button', { name: 'Uninstall…' }).count()).to.equal(0);
  });

  const settingsPath = '/apis/plugin.homeostat.internal/v1alpha1/pluginsettings/stamps';

  async function storedSettings(): Promise<unknown> {
    const response = await fetch(`${served.url}${settingsPath}`, { headers: { authorization: `Bearer ${token}` } });
    return ((await response.json()) as { readonly spec: unknown }).spec;
  }

  it('creates the settings of a plugin in a form, and sees which values the schema refuses', async () => {
    const card = page.getByRole('region', { name: 'stamps', exact: true });
    await card.getByRole('link', { name: 'Settings' }).press('Enter');
    await page.getByRole('link', { name: 'Create it' }).press('Enter');
    await page.locator('.cm-content').waitFor();
    expect(await page.getByLabel('name required', { exact: true }).inputValue()).to.equal('stamps');
    const ink = page.getByLabel('ink', { exact: true });
    await ink.fill('0');
    await page.locator('.cm-lint-marker-error').waitFor();
    expect(await ink.getAttribute('aria-invalid')).to.equal('true');
    await expectAccessibleInThemes(page);
    await ink.fill('3');
    expect(await page.locator('.form-field', { hasText: 'motto' }).textContent()).to.include('Default: Hello');
    await page.getByLabel('motto').fill('Stamp it');
    await page.getByLabel('scale').fill('1.5');
    await page.getByLabel('paper', { exact: true }).selectOption('glossy');
    await page.getByLabel('fast').selectOption('false');
    await page.getByRole('button', { name: 'Add place' }).press('Enter');
    await page.getByLabel('room required').fill('cellar');
    await page.locator('.cm-lint-marker-error').waitFor({ state: 'detached' });
    await page.getByRole('heading', { level: 1 }).scrollIntoViewIfNeeded();
    await takePicture(page, 'settings');
    await page.getByRole('button', { name: 'Review and create', disabled: false }).press('Enter');
    // Unlike click, press does not wait until the button is enabled. The response to the dry run enables this button.
    const confirm = page.getByRole('button', { name: 'Create', exact: true, disabled: false });
    await confirm.waitFor();
    await expectAccessibleInThemes(page);
    await confirm.press('Enter');
    await page.getByRole('heading', { name: 'stamps', level: 1 }).waitFor();
    const place = { room: 'cellar' };
    const settings = { ink: 3, paper: 'glossy', motto: 'Stamp it', scale: 1.5, fast: false, place };
    expect(await storedSettings()).to.deep.equal(settings);
  });

  it('edits settings as YAML when the form cannot show them, with completion by the schema', async () => {
    await visit(page, '#/objects/pluginsettings.plugin.homeostat.internal/-/stamps?tab=edit');
    await page.getByText('This field takes any value: edit it in the YAML.').waitFor();
    await page.locator('.cm-line', { hasText: 'ink: 3' }).click();
    await page.keyboard.press('End');
    await page.keyboard.type('\nnotes: [a, {b: 1}]');
    await page.locator('.cm-line', { hasText: 'paper: glossy' }).click();
    await page.keyboard.press('Shift+Home');
    await page.keyboard.type('pa');
    await page.locator('.cm-tooltip-autocomplete [role=option]', { hasText: /^paper$/ }).waitFor();
    await page.keyboard.type('per: plain');
    expect(await page.getByLabel('paper', { exact: true }).inputValue()).to.equal('plain');
    await page.getByRole('button', { name: 'Review and save', disabled: false }).press('Enter');
    await page.getByRole('button', { name: 'Save', exact: true, disabled: false }).press('Enter');
    await page.getByText('stamps is saved').waitFor();
    expect(await storedSettings())
      .to.include({ ink: 3, paper: 'plain' })
      .and.have.deep.property('notes', ['a', { b: 1 }]);
    await visit(page, '#/plugins');
    // The card of a plugin without settings has no link to settings.
    const consoleCard = page.getByRole('region', { name: 'Console', exact: true });
    await consoleCard.getByRole('button', { name: 'Reload' }).waitFor();
    expect(await consoleCard.getByRole('link', { name: 'Settings' }).count()).to.equal(0);
  });

  it('replaces a plugin with its next version, and uninstalls it', async () => {
    // The user opens the dialog and installs the version by keyboard alone.
    await page.getByRole('button', { name: 'Install…', exact: true }).press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Archive (.tgz)').setInputFiles(archive(folder, '2.0.0'));
    await dialog.getByLabel('Archive (.tgz)').focus();
    for (const name of ['Close', 'Install']) {
      await page.keyboard.press('Tab');
      await expectFocus(page, name);
    }
    await page.keyboard.press('Enter');
    await dialog.getByText('stamps 2.0.0 is installed, in place of 1.0.0.').waitFor();
    await page.keyboard.press('Escape');
    await expectFocus(page, 'Install…');
    const card = page.getByRole('region', { name: 'stamps', exact: true });
    await card.getByText('stamps 2.0.0').waitFor();
    await card.getByRole('button', { name: 'Uninstall…' }).click();
    await expectAccessibleInThemes(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Uninstall' }).click();
    await card.waitFor({ state: 'detached' });
  });

  it('follows a link on the overview to the card of a failed plugin, which shows the file and line of the error', async () => {
    const code = 'export default {\n  start() {\n    throw new Error("no <b>ink</b>");\n  },\n};\n';
    await page.getByRole('button', { name: 'Install…', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Archive (.tgz)').setInputFiles(archive(folder, '3.0.0', code));
    await dialog.getByRole('button', { name: 'Install' }).click();
    await dialog.getByText('Failed').waitFor();
    await page.keyboard.press('Escape');
    await visit(page, '#/');
    const plugins = page.getByRole('region', { name: 'Plugins', exact: true });
    await plugins.getByText('no <b>ink</b> (dist/index.js:3)').waitFor();
    await plugins.getByRole('link', { name: 'stamps', exact: true }).press('Enter');
    const card = page.getByRole('region', { name: 'stamps', exact: true });
    await card.getByText('StartFailed: no <b>ink</b> (dist/index.js:3)').waitFor();
    await expectAccessible(page);
    await card.getByRole('button', { name: 'Uninstall…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Uninstall' }).click();
    await card.waitFor({ state: 'detached' });
  });

  it('searches the audit log by the verb and the status code of requests', async () => {
    const body = JSON.stringify({ user: hostile, password: 'a wrong password' });
    await fetch(`${served.url}/login`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    await visit(page, '#/audit');
    await page.getByLabel('User').focus();
    await page.keyboard.press('Tab');
    await page.keyboard.type('delete');
    await page.keyboard.press('Enter');
    await page
      .getByRole('row', { name: /admin delete archives.*stamps/ })
      .first()
      .waitFor();
    expect(page.url()).to.include('verb=delete');
    await page.getByLabel('Verb').fill('');
    await page.getByLabel('Code').fill('401');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByText('<img src=x onerror=alert(1)>', { exact: false }).first().waitFor();
    expect(await page.locator('main img').count()).to.equal(0);
    await page.getByLabel('Code').fill('no');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByText('code: must be a number', { exact: false }).waitFor();
  });

  it('finds the last use of each token of a service account on the access page', async () => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const accounts = `${served.url}/api/v1/namespaces/default/serviceaccounts`;
    const metadata = { name: 'robot', namespace: 'default' };
    const account = JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata });
    expect((await fetch(accounts, { method: 'POST', headers, body: account })).status).to.equal(201);
    const ids: string[] = [];
    for (const requests of [2, 1]) {
      const asked = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} });
      const made = await fetch(`${accounts}/robot/token`, { method: 'POST', headers, body: asked });
      const issued = ((await made.json()) as { readonly status: { readonly token: string } }).status.token;
      const claims = Buffer.from(issued.split('.')[1] ?? '', 'base64url').toString();
      ids.push((JSON.parse(claims) as { readonly jti: string }).jti);
      const authorization = { authorization: `Bearer ${issued}`, 'user-agent': `sweeper/${requests} <b>` };
      for (let sent = 0; sent < requests; sent += 1)
        await fetch(`${served.url}/api/v1/nodes`, { headers: authorization });
    }
    await visit(page, '#/access');
    const card = page.getByRole('region', { name: 'When was a token used last?' });
    const option = card.locator('option[value="system:serviceaccount:default:robot"]');
    await option.waitFor({ state: 'attached' });
    await card.getByLabel('User or service account').fill('system:serviceaccount:default:robot');
    await card.getByRole('button', { name: 'Find' }).press('Enter');
    const rows = card.locator('tbody tr');
    await rows.nth(1).waitFor();
    expect(await rows.nth(0).textContent()).to.match(new RegExp(`^${ids[1]}.*sweeper/1 <b>1$`));
    expect(await rows.nth(1).textContent()).to.match(new RegExp(`^${ids[0]}.*sweeper/2 <b>2$`));
    await expectAccessible(page);
    await takePicture(page, 'tokens');
    await card.getByLabel('User or service account').fill('nobody');
    await page.keyboard.press('Enter');
    await card.getByText('No request of this user is in the audit log').waitFor();
    await card.getByLabel('User or service account').fill('system:serviceaccount:default:robot');
    await page.keyboard.press('Enter');
    await card.getByRole('link', { name: 'All requests of this user' }).click();
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    expect(await page.getByLabel('User').inputValue()).to.equal('system:serviceaccount:default:robot');
  });

  it("sees the permissions of a user, and the bindings that give them, on the user's page", async () => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const send = async (path: string, body: object): Promise<void> => {
      const response = await fetch(`${served.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(response.status, await response.text()).to.equal(201);
    };
    const group = 'rbac.authorization.k8s.io';
    const apiVersion = `${group}/v1`;
    const metadata = { name: 'mona' };
    await send('/apis/iam.homeostat.internal/v1alpha1/users', {
      apiVersion: 'iam.homeostat.internal/v1alpha1',
      kind: 'User',
      metadata,
      spec: { groups: ['painters'] },
    });
    const rules = [{ apiGroups: ['tasks.example.com'], resources: ['tasks'], verbs: ['get', 'patch'] }];
    const role = { name: 'painter', namespace: 'default' };
    await send(`/apis/${group}/v1/namespaces/default/roles`, { apiVersion, kind: 'Role', metadata: role, rules });
    for (const [at, kind, roleRef, subject] of [
      [
        'clusterrolebindings',
        'ClusterRoleBinding',
        { kind: 'ClusterRole', name: 'view' },
        { kind: 'User', name: 'mona' },
      ],
      [
        'namespaces/default/rolebindings',
        'RoleBinding',
        { kind: 'Role', name: 'painter' },
        { kind: 'Group', name: 'painters' },
      ],
    ] as const)
      await send(`/apis/${group}/v1/${at}`, {
        apiVersion,
        kind,
        metadata: { name: `mona-${roleRef.name}` },
        roleRef: { apiGroup: group, ...roleRef },
        subjects: [{ apiGroup: group, ...subject }],
      });
    await visit(page, '#/objects/users.iam.homeostat.internal/-/mona');
    const card = page.getByRole('region', { name: 'Access' });
    await card.getByText('get, patch: tasks in tasks.example.com').waitFor();
    const rows = await card.getByRole('listitem').allTextContents();
    expect(rows.find((each) => each.includes('mona-view'))).to.match(
      /^the role view everywhere, by the binding mona-view/,
    );
    expect(rows.find((each) => each.includes('painter'))).to.match(
      /^the role painter in the namespace default, by the binding mona-painter.*as one of painters/,
    );
    await expectAccessible(page);
    await takePicture(page, 'user');
    await card.getByRole('link', { name: 'mona-painter' }).press('Enter');
    await page.getByRole('heading', { name: 'mona-painter', level: 1 }).waitFor();
  });

  it('looks up the permissions of a group, of a service account, and of a user for whom no User object exists', async () => {
    await visit(page, '#/access');
    const card = page.getByRole('region', { name: 'What may … do?' });
    const ask = async (kind: string, name: string, groups = ''): Promise<void> => {
      await card.getByLabel('Subject').selectOption(kind);
      await card.getByLabel('Name').fill(name);
      await card.getByLabel('Groups', { exact: true }).fill(groups);
      await card.getByLabel('Groups', { exact: true }).press('Enter');
      await card.getByRole('region', { name: `${kind} ${name}` }).waitFor();
    };
    await ask('Group', 'painters');
    await card.getByText('get, patch: tasks in tasks.example.com').waitFor();
    await expectAccessible(page);
    await ask('User', 'https://issuer.example/<b>guest</b>');
    await card.getByText('No binding names this subject').waitFor();
    await ask('User', 'https://issuer.example/<b>guest</b>', 'visitors, painters');
    await card.getByText('as one of painters').waitFor();
    await ask('ServiceAccount', 'default/robot');
    // Every service account may read the public keys of the token issuer.
    await card.getByText('as one of system:serviceaccounts').waitFor();
  });

  it('sees the contributions and extension points of plugins on their cards; a link to a card scrolls to it', async () => {
    await visit(page, '#/plugins/task');
    const card = page.getByRole('region', { name: 'task', exact: true });
    await card.getByText('Contributes to: console/pages (1), console/panels (1)', { exact: false }).waitFor();
    await page
      .getByRole('region', { name: 'Console', exact: true })
      .getByText('Extension points: console/pages (used by task)', { exact: false })
      .waitFor();
    const box = await card.boundingBox();
    expect(box?.y).to.be.at.least(0);
    expect((box?.y ?? 0) + Math.min(box?.height ?? 0, 100)).to.be.at.most(800);
  });

  it('sees panels of plugins, which can read neither the session cookie nor the token', async () => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const task = {
      apiVersion: 'tasks.example.com/v1',
      kind: 'Task',
      metadata: { name: 'spied' },
      spec: { title: 'x' },
    };
    const tasks = `${served.url}/apis/tasks.example.com/v1/tasks`;
    expect((await fetch(tasks, { method: 'POST', headers, body: JSON.stringify(task) })).status).to.equal(201);
    const body = `export const mount = async (element, context) => {
      const found = { cookie: document.cookie, stored: JSON.stringify([localStorage, sessionStorage]), keys: Object.keys(context) };
      const login = await context.get('/apis/authentication.k8s.io/v1').catch(String);
      element.textContent = JSON.stringify(found) + JSON.stringify(login);
    };`;
    const [cookie] = await page.context().cookies();
    expect(cookie?.value).to.be.a('string').and.not.equal('');
    await page.route('**/progress.js', (route) => route.fulfill({ contentType: 'text/javascript', body }));
    await page.reload();
    await visit(page, '#/objects/tasks.tasks.example.com/-/spied');
    const panel = page.getByRole('region', { name: 'Progress' });
    await panel.getByText('"cookie":""', { exact: false }).waitFor();
    const text = (await panel.textContent()) ?? '';
    expect(text).to.include('["object","get","signal"]').and.not.include(token);
    expect(text).not.to.include(cookie?.value);
    await page.unroute('**/progress.js');
  });

  for (const theme of ['light', 'dark'] as const) {
    it(`has an audit page without accessibility problems (axe-core) in the ${theme} theme`, async () => {
      const shown = await logIn(token, theme);
      await visit(shown, '#/audit?since=24h');
      await shown.getByRole('row').nth(3).waitFor();
      await expectAccessible(shown);
      const isCut = await shown.getByRole('region', { name: 'Entries' }).evaluate((element) => {
        const { scrollWidth, clientWidth } = element as unknown as Record<'scrollWidth' | 'clientWidth', number>;
        return scrollWidth > clientWidth;
      });
      expect(isCut).to.equal(false);
      if (theme === 'light') await takePicture(shown, 'audit');
      await shown.context().close();
    });
  }

  it('alone may install and uninstall plugins and read the audit log over HTTP: another user gets 403', async () => {
    const headers = { authorization: `Bearer ${reader}` };
    for (const [method, path] of [
      ['GET', '/apis/api.plugins.internal/v1/archives'],
      ['POST', '/apis/api.plugins.internal/v1/archives'],
      ['DELETE', '/apis/api.plugins.internal/v1/archives/console'],
      ['GET', '/apis/api.audit.internal/v1/entries'],
      ['GET', '/debug/plugins-dir'],
    ] as const) {
      const response = await fetch(`${served.url}${path}`, { method, headers });
      expect(response.status, `${method} ${path}: ${await response.text()}`).to.equal(403);
    }
  });

  it('alone sees a link to the audit log and a button to install plugins: another user sees neither', async () => {
    const other = await logIn(reader);
    await other.getByText('rita', { exact: true }).waitFor();
    expect(await other.getByRole('link', { name: 'Audit' }).count()).to.equal(0);
    await visit(other, '#/plugins');
    await other.getByRole('heading', { name: 'Plugins' }).waitFor();
    expect(await other.getByRole('button', { name: 'Install…', exact: true }).count()).to.equal(0);
    await visit(other, '#/audit');
    await other.getByText('You may not do this').waitFor();
    await other.context().close();
  });
});
