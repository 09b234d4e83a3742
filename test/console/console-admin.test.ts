import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { end, serve } from '../support/serve-command.ts';
import type { Served } from '../support/serve-command.ts';
import { browserTimeoutMs, ConsoleBrowser, expectAccessible, takePicture, visit } from './console.fixture.ts';
import type { Theme } from './console.fixture.ts';

const token = 'the-token-of-the-administrator';
const reader = 'the-token-of-a-reader';
// A client that tries to log in chooses the name in the audit log.
const hostile = '<img src=x onerror=alert(1)>\u202e';

const manifest = (version: string): string => `name: stamps\nversion: ${version}\ndescription: Stamps <b>letters</b>\n`;

/** A plugin without kinds, as `npm pack` packs it. */
function archive(folder: string, version: string): string {
  const files = { 'plugin.yaml': manifest(version), 'package.json': '{"type":"module"}' };
  const source = join(folder, `stamps-${version}`);
  mkdirSync(join(source, 'dist'), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(source, name), text);
  writeFileSync(join(source, 'dist/index.js'), 'export default {};\n');
  const file = join(folder, `stamps-${version}.tgz`);
  execFileSync('tar', ['--transform', 's/^[.]/package/', '-czf', file, '-C', source, '.']);
  return file;
}

describe('an administrator in the console', function () {
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
    const files = ['--plugins-dir', join(folder, 'plugins'), '--audit-log', join(folder, 'audit.log')];
    served = await serve(...access, ...files, '--database', `sqlite:${folder}/console.db`);
    page = await logIn(token);
  });

  after(async () => {
    await browser?.close();
    if (served !== undefined) await end(served.child, 'SIGTERM');
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  afterEach(() => browser.expectQuiet());

  async function logIn(credential: string, theme: Theme = 'light'): Promise<Page> {
    const opened = await browser.open(`${served.url}/console/`, theme);
    await opened.getByText('Log in with a token').click();
    await opened.getByLabel('Token').fill(credential);
    await opened.keyboard.press('Enter');
    await opened.getByRole('heading', { name: 'Overview' }).waitFor();
    return opened;
  }

  it('installs a plugin from a file, sees its phase, and why another file is refused', async () => {
    await visit(page, '#/plugins');
    await page.getByRole('button', { name: 'Install…', exact: true }).click();
    const dialog = page.getByRole('dialog');
    writeFileSync(join(folder, 'broken.tgz'), '<script>alert(1)</script>');
    await dialog.getByLabel('Archive (.tgz)').setInputFiles(join(folder, 'broken.tgz'));
    await dialog.getByRole('button', { name: 'Install' }).click();
    await dialog.getByText('the archive: cannot be unpacked', { exact: false }).waitFor();
    await expectAccessible(page);
    await dialog.getByLabel('Archive (.tgz)').setInputFiles(archive(folder, '1.0.0'));
    await dialog.getByRole('button', { name: 'Install' }).click();
    await dialog.getByText('stamps 1.0.0 is installed.').waitFor();
    await dialog.getByText('Started').waitFor();
    await takePicture(page, 'install');
    await page.keyboard.press('Escape');
    const card = page.getByRole('region', { name: 'stamps', exact: true });
    await card.getByText('Stamps <b>letters</b>').waitFor();
  });

  it('replaces a plugin by its next version, and uninstalls it', async () => {
    await page.getByRole('button', { name: 'Install…', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Archive (.tgz)').setInputFiles(archive(folder, '2.0.0'));
    await dialog.getByRole('button', { name: 'Install' }).click();
    await dialog.getByText('stamps 2.0.0 is installed, in place of 1.0.0.').waitFor();
    await page.keyboard.press('Escape');
    const card = page.getByRole('region', { name: 'stamps', exact: true });
    await card.getByText('stamps 2.0.0').waitFor();
    await card.getByRole('button', { name: 'Uninstall…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Uninstall' }).click();
    await card.waitFor({ state: 'detached' });
  });

  it('finds in the audit log who did what, and what was refused', async () => {
    const body = JSON.stringify({ user: hostile, password: 'a wrong password' });
    await fetch(`${served.url}/login`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    await visit(page, '#/audit');
    await page.getByLabel('Verb').fill('delete');
    await page.keyboard.press('Enter');
    await page
      .getByRole('row', { name: /admin delete archives.*stamps/ })
      .first()
      .waitFor();
    expect(page.url()).to.include('verb=delete');
    await page.getByLabel('Verb').fill('');
    await page.getByLabel('Code').fill('401');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('<img src=x onerror=alert(1)>', { exact: false }).first().waitFor();
    expect(await page.locator('main img').count()).to.equal(0);
    await page.getByLabel('Code').fill('no');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('code: must be a number', { exact: false }).waitFor();
  });

  for (const theme of ['light', 'dark'] as const) {
    it(`has an audit page that axe-core does not object to, in the ${theme} theme`, async () => {
      const shown = await logIn(token, theme);
      await visit(shown, '#/audit?since=24h');
      await shown.getByRole('row').nth(3).waitFor();
      await expectAccessible(shown);
      if (theme === 'light') await takePicture(shown, 'audit');
      await shown.context().close();
    });
  }

  it('alone sees the audit log and the buttons that install', async () => {
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
