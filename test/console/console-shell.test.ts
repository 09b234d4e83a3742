import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { eventually } from '@homeostat/controller-runtime/testing';
import { demoPerson } from '../support/models/demo-person.ts';
import {
  browserTimeoutMs,
  ConsoleBrowser,
  consoleFolder,
  expectAccessible,
  expectAccessibleInThemes,
  visit,
} from './console.fixture.ts';
import { Ticket, ticketsPath } from './tickets.fixture.ts';

describe('the console in a browser [slow]', function () {
  this.timeout(browserTimeoutMs);
  let browser: ConsoleBrowser;
  let server: TestServer;
  let page: Page;

  before(async function () {
    browser = await ConsoleBrowser.start(this);
    server = await startTestServer({ plugins: [consoleFolder], models: [Ticket, demoPerson] });
    for (const name of ['alpha', 'beta', 'gamma'])
      await server.client.create(Ticket, {
        metadata: { name, labels: { 'example.com/team': name } },
        spec: { title: name },
      });
    page = await browser.open(`${server.url}/console/`);
  });

  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  afterEach(() => browser.expectQuiet());

  it('loads at most 150 KiB (compressed) before it shows the first page', () => {
    const folder = join(consoleFolder, 'resources/static');
    const html = readFileSync(join(folder, 'index.html'), 'utf8');
    const first = [...html.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, file = '']) => file);
    expect(readdirSync(join(folder, 'assets')).length).to.be.at.least(first.length);
    const bytes = ['index.html', ...first].map((file) => gzipSync(readFileSync(join(folder, file))).length);
    expect(first.length).to.be.at.least(3);
    expect(bytes.reduce((sum, each) => sum + each, 0)).to.be.at.most(150 * 1024);
  });

  it('has a content security policy that allows no inline scripts and styles', async () => {
    const { headers } = await fetch(`${server.url}/console/`);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).to.contain("default-src 'self'").and.not.contain('unsafe');
  });

  it('shows the overview, and a list that follows changes', async () => {
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await visit(page, `#/kinds/${ticketsPath}`);
    await page.getByRole('link', { name: 'alpha', exact: true }).waitFor();
    await server.client.create(Ticket, { metadata: { name: 'delta' }, spec: { title: 'later' } });
    await page.getByRole('link', { name: 'delta', exact: true }).waitFor();
    await server.client.delete(Ticket, 'delta');
    await page.getByRole('link', { name: 'delta', exact: true }).waitFor({ state: 'detached' });
  });

  it('keeps the text that a user is typing into a filter while objects change', async () => {
    await visit(page, `#/kinds/${ticketsPath}`);
    await page.getByRole('link', { name: 'alpha', exact: true }).waitFor();
    await page.getByLabel('Labels').fill('example.com/te');
    await server.client.create(Ticket, { metadata: { name: 'epsilon' }, spec: { title: 'meanwhile' } });
    await page.getByRole('link', { name: 'epsilon', exact: true }).waitFor();
    expect(await page.getByLabel('Labels').inputValue()).to.equal('example.com/te');
    await server.client.delete(Ticket, 'epsilon');
    await page.getByLabel('Labels').fill('');
  });

  it('keeps the filters of a list in the URL, and supports the back button', async () => {
    await visit(page, `#/kinds/${ticketsPath}`);
    await page.getByLabel('Labels').fill('example.com/team=beta');
    await page.getByLabel('Labels').press('Enter');
    await page.getByRole('link', { name: 'alpha', exact: true }).waitFor({ state: 'detached' });
    expect(page.url()).to.contain('labels=example.com%2Fteam%3Dbeta');
    await visit(page, '#/plugins');
    await page.getByRole('heading', { name: 'Plugins', level: 1 }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'beta', exact: true }).waitFor();
    expect(await page.getByLabel('Labels').inputValue()).to.equal('example.com/team=beta');
  });

  it('keeps the chosen columns of a list in the URL, and after a reload', async () => {
    const ada = { metadata: { name: 'ada' }, spec: { name: 'Ada', age: 36, gender: 'FEMALE' } };
    await server.client.create(demoPerson, ada);
    await visit(page, '#/kinds/persons.demo.example.com');
    const head = (name: string) => page.getByRole('columnheader', { name, exact: true });
    await head('Created').waitFor();
    expect(await head('Gender').count()).to.equal(0);
    // A column that the kind declares shows the field's value, even if its name is also that of a standard column.
    await page.getByRole('row', { name: /ada 36/ }).waitFor();
    await page.getByText('Columns', { exact: true }).press('Enter');
    await expectAccessibleInThemes(page);
    await page.getByLabel('Gender', { exact: true }).press('Space');
    await head('Gender').waitFor();
    await page.getByLabel('Created', { exact: true }).press('Space');
    await head('Created').waitFor({ state: 'detached' });
    expect(page.url())
      .to.match(/[?&]show=Gender(&|$)/)
      .and.match(/[?&]hide=Created(&|$)/);
    await page.reload();
    await page.getByRole('row', { name: /ada 36 FEMALE/ }).waitFor();
    expect(await head('Created').count()).to.equal(0);
    await page.getByText('Columns', { exact: true }).press('Enter');
    expect(await page.getByLabel('Created', { exact: true }).isChecked()).to.equal(false);
    await page.getByLabel('Created', { exact: true }).press('Space');
    await page.getByLabel('Gender', { exact: true }).press('Space');
    await head('Created').waitFor();
    expect(page.url()).not.to.match(/[?&](show|hide)=/);
  });

  it('searches kinds and names after /, jumps to a page after :, and lists the keys after ?', async () => {
    await visit(page, '#/');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.press('/');
    await page.getByRole('combobox').fill('gamm');
    await page.getByRole('option', { name: 'gamma' }).waitFor();
    await expectAccessibleInThemes(page);
    await page.keyboard.press('Escape');
    await page.getByRole('combobox').waitFor({ state: 'detached' });
    await page.keyboard.press(':');
    await page.getByRole('combobox').fill('ticket');
    await expectAccessibleInThemes(page);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Ticket', exact: true }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await expectAccessibleInThemes(page);
    await page.keyboard.press('Escape');
  });

  it('deletes the selected objects after a dry run', async () => {
    for (const name of ['old-1', 'old-2'])
      await server.client.create(Ticket, { metadata: { name }, spec: { title: name } });
    await visit(page, `#/kinds/${ticketsPath}?sort=metadata.name%2Cdesc`);
    await page.getByLabel('Select old-1').click();
    await page.getByLabel('Select old-2').click();
    await page.getByRole('button', { name: 'Delete 2…' }).click();
    await page.getByText('The server would delete 2, and refuse 0.').waitFor();
    await expectAccessibleInThemes(page);
    expect(await server.client.get(Ticket, 'old-1')).to.have.nested.property('metadata.name', 'old-1');
    await page.getByRole('button', { name: 'Delete 2', exact: true }).click();
    await eventually(async () =>
      (await server.client.list(Ticket)).items.every(({ metadata }) => !metadata.name?.startsWith('old-')),
    );
  });

  it('labels, pauses, resumes and reconciles the selected objects by keyboard', async () => {
    for (const name of ['many-1', 'many-2'])
      await server.client.create(Ticket, { metadata: { name, labels: { old: 'yes' } }, spec: { title: name } });
    await visit(page, `#/kinds/${ticketsPath}?sort=metadata.name%2Cdesc`);
    const select = async (): Promise<void> => {
      for (const name of ['many-1', 'many-2']) await page.getByLabel(`Select ${name}`).press('Space');
    };
    const choose = async (item: string): Promise<void> => {
      await page.getByText('Change 2', { exact: true }).press('Enter');
      await page.getByRole('button', { name: item }).press('Enter');
    };
    const metadataOf = async (name: string) => (await server.client.get(Ticket, name))?.metadata;
    await select();
    await choose('Label…');
    const labels = page.getByLabel('Labels to set (name=value) or to remove (name-)');
    await labels.fill('a b');
    await labels.press('Enter');
    await page.getByText('“a b” is neither name=value nor name-').waitFor();
    await expectAccessibleInThemes(page);
    await labels.fill('team=red, old-');
    await labels.press('Enter');
    await page.getByText('The server would label 2, and refuse 0.').waitFor();
    expect((await metadataOf('many-1'))?.labels).to.deep.equal({ old: 'yes' });
    await expectAccessibleInThemes(page);
    await page.getByRole('button', { name: 'Label 2', exact: true }).press('Enter');
    await page.getByText('2 labelled').waitFor();
    for (const name of ['many-1', 'many-2']) expect((await metadataOf(name))?.labels).to.deep.equal({ team: 'red' });
    const paused = 'controllers.homeostat.internal/paused';
    for (const [verb, done, value] of [
      ['Pause', '2 paused', 'true'],
      ['Resume', '2 resumed', undefined],
    ] as const) {
      await select();
      await choose(`${verb}…`);
      await page.getByRole('button', { name: `${verb} 2`, exact: true, disabled: false }).press('Enter');
      await page.getByText(done).waitFor();
      expect((await metadataOf('many-2'))?.annotations?.[paused]).to.equal(value);
    }
    await select();
    await choose('Reconcile now…');
    await page.getByRole('button', { name: 'Reconcile 2', exact: true, disabled: false }).press('Enter');
    await page.getByText('2 reconciled now').waitFor();
    expect((await metadataOf('many-1'))?.annotations).to.have.property(
      'controllers.homeostat.internal/reconcile-requested-at',
    );
  });

  it('shows before a bulk action which objects the server refuses to change', async () => {
    await server.client.create(Ticket, { metadata: { name: 'refused' }, spec: { title: 'refused' } });
    await visit(page, `#/kinds/${ticketsPath}?q=refused`);
    await page.getByLabel('Select refused').click();
    await page.getByText('Change 1', { exact: true }).click();
    await page.getByRole('button', { name: 'Label…' }).click();
    await page.getByLabel('Labels to set (name=value) or to remove (name-)').fill('-bad-=x');
    await page.getByRole('button', { name: 'Try' }).click();
    await page.getByText('The server would label 0, and refuse 1.').waitFor();
    await page.locator('dialog li', { hasText: 'metadata.labels' }).waitFor();
    await expectAccessibleInThemes(page);
    expect(await page.getByRole('button', { name: 'Label 0' }).isDisabled()).to.equal(true);
    await page.getByRole('button', { name: 'Cancel' }).press('Enter');
  });

  it('moves through rows, selects and opens them by keyboard', async () => {
    await visit(page, `#/kinds/${ticketsPath}`);
    await page.getByRole('link', { name: 'beta', exact: true }).waitFor();
    await page.getByRole('region', { name: 'Ticket list' }).focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Space');
    expect(await page.getByLabel('Select beta').isChecked()).to.equal(true);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'beta', level: 1 }).waitFor();
  });

  it('puts its links into a menu on a narrow screen, and has no page wider than the screen', async () => {
    const shown = await browser.open(`${server.url}/console/`);
    await shown.setViewportSize({ width: 390, height: 800 });
    await shown.getByRole('heading', { name: 'Overview' }).waitFor();
    const link = shown.getByRole('link', { name: 'Plugins', exact: true });
    expect(await link.isVisible()).to.equal(false);
    await shown.getByRole('button', { name: 'Menu' }).press('Enter');
    await expectAccessible(shown);
    await link.press('Enter');
    await shown.getByRole('heading', { name: 'Plugins', level: 1 }).waitFor();
    await link.waitFor({ state: 'hidden' });
    for (const [fragment, heading] of [...pages, ['#/access', 'Access'], ['#/audit', 'Audit']] as const) {
      await visit(shown, fragment);
      await shown.getByRole('heading', { name: heading, level: 1 }).waitFor();
      const extra = await shown.locator('main').evaluate((element) => {
        const { scrollWidth, clientWidth } = element as unknown as Record<'scrollWidth' | 'clientWidth', number>;
        return scrollWidth - clientWidth;
      });
      expect(extra, heading).to.equal(0);
      await expectAccessible(shown);
    }
    await shown.context().close();
  });

  it('works behind a proxy that adds a prefix to the path', async () => {
    const proxy = createServer((request, response) => {
      const path = (request.url ?? '').replace(/^\/prefix/, '');
      const headers = { ...request.headers, host: new URL(server.url).host };
      const forwarded = httpRequest(`${server.url}${path}`, { method: request.method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      forwarded.on('error', () => response.destroy());
      response.on('close', () => forwarded.destroy());
      request.pipe(forwarded);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    const shown = await browser.open(`http://127.0.0.1:${port}/prefix/console/#/kinds/${ticketsPath}`);
    await shown.getByRole('link', { name: 'alpha', exact: true }).waitFor();
    await shown.context().close();
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  });

  for (const theme of ['light', 'dark'] as const) {
    it(`has pages without accessibility problems (axe-core) in the ${theme} theme`, async () => {
      const shown = await browser.open(`${server.url}/console/`, theme);
      for (const [fragment, heading] of pages) {
        await visit(shown, fragment);
        await shown.getByRole('heading', { name: heading, level: 1 }).waitFor();
        await expectAccessible(shown);
      }
      await shown.context().close();
    });
  }
});

const pages: readonly (readonly [fragment: string, heading: string])[] = [
  ['#/', 'Overview'],
  [`#/kinds/${ticketsPath}`, 'Ticket'],
  ['#/plugins', 'Plugins'],
  ['#/nowhere', 'No such page'],
];
