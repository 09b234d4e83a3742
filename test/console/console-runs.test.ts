import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { Lease } from 'homeostat';
import { silentLogger } from '@homeostat/controller-runtime/api';
import {
  browserTimeoutMs,
  ConsoleBrowser,
  consoleFolder,
  expectAccessible,
  expectAccessibleInThemes,
  takePicture,
  visit,
} from './console.fixture.ts';
import { Orchard, orchardsPath, Press, treePlugin } from './tree-plugin.fixture.ts';

interface PluginPart {
  readonly metadata: { readonly name: string };
}

describe('pages of the console about controllers [slow]', function () {
  this.timeout(browserTimeoutMs);
  let browser: ConsoleBrowser;
  let server: TestServer;
  let page: Page;

  before(async function () {
    browser = await ConsoleBrowser.start(this);
    const plugins = [consoleFolder, treePlugin()];
    server = await startTestServer({ plugins, logger: silentLogger, reportRuns: true, leaderElection: true });
    page = await browser.open(`${server.url}/console/`);
  });

  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  afterEach(() => browser.expectQuiet());

  const placeOf = (name: string, tab: string): string => `#/objects/${orchardsPath}/-/${name}?tab=${tab}`;
  const create = async (name: string, spec: object): Promise<unknown> =>
    server.client.create(Orchard, { metadata: { name }, spec });

  it('show the trigger, the wait and the duration of a run, and its writes as differences', async () => {
    await create('north', { trees: 1 });
    await visit(page, placeOf('north', 'runs'));
    await page.locator('.run').first().waitFor();
    const patch = { spec: { trees: 2 } };
    await server.client.patch(Orchard, 'north', { type: 'merge', patch }, { fieldManager: 'the-farmer' });
    const run = page.locator('.run', { hasText: /event MODIFIED of revision \d+ by the-farmer/ }).first();
    await run.locator('summary').click();
    await run.getByText(/^Attempt 1, after [\d.]+ m?s in the queue\./).waitFor();
    expect(await run.locator('summary').textContent()).to.match(/^success.*plugin-2\/gardener.*2 writes[\d.]+ m?s/);
    const created = run.locator('.write', { hasText: 'Tree north-1' });
    await created.locator('.diff-added').first().waitFor();
    const status = run.locator('.write', { hasText: 'Orchard north/status' });
    await status
      .locator('.diff-row', { hasText: 'status.planted' })
      .locator('.diff-removed', { hasText: '1' })
      .waitFor();
    await status.locator('.diff-row', { hasText: 'status.planted' }).locator('.diff-added', { hasText: '2' }).waitFor();
    await expectAccessible(page);
  });

  it('show the error and the stack of a failed run, and the time of the next run', async () => {
    await create('south', { isSick: true });
    await visit(page, placeOf('south', 'runs'));
    const run = page.locator('.run', { hasText: 'error' }).first();
    await run.locator('summary').click();
    await run.locator('.run-body .problem', { hasText: 'leaves are brown' }).waitFor();
    await run.locator('.stack-trace', { hasText: 'tree-plugin.fixture' }).waitFor();
    await run.getByText(/(Next run: (in \d+s|now)|The next run was due (just now|\d+s ago))\./).waitFor();
  });

  it('list an object on the overview, without a reload, when the object begins to fail', async () => {
    await create('west', { trees: 0 });
    await visit(page, '#/');
    const card = page.getByRole('region', { name: 'Objects that need attention' });
    await card.getByRole('link', { name: 'Orchard' }).waitFor();
    expect(await card.getByRole('link', { name: 'west', exact: true }).count()).to.equal(0);
    await server.client.patch(Orchard, 'west', { type: 'merge', patch: { spec: { isSick: true } } });
    await card.getByRole('link', { name: 'west', exact: true }).waitFor();
    await card.getByText('Sick: as it is').first().waitFor();
  });

  it('show a live tree of at most 500 objects that an object owns', async () => {
    await create('many', { trees: 1100 });
    await create('tail', { trees: 1 });
    await server.settle();
    await visit(page, placeOf('tail', 'tree'));
    const tree = page.locator('.tree');
    await tree.getByRole('link', { name: 'tail-0', exact: true }).waitFor();
    await server.client.patch(Orchard, 'tail', { type: 'merge', patch: { spec: { trees: 2 } } });
    await tree.getByRole('link', { name: 'tail-1', exact: true }).waitFor();
    await expectAccessible(page);
    await takePicture(page, 'owners');
    await tree.getByRole('link', { name: 'tail-1', exact: true }).press('Enter');
    await page.getByRole('heading', { name: 'tail-1', level: 1 }).waitFor();
    await visit(page, placeOf('many', 'tree'));
    await page.getByText('This object owns more objects: these are the first 500.').waitFor();
  });

  it('show the state of one key of a controller', async () => {
    await visit(page, '#/controllers/plugin-2.gardener');
    const card = page.getByRole('region', { name: 'State of one key' });
    await card.getByLabel('Key').fill('south');
    await card.getByLabel('Key').press('Enter');
    await card.getByText(/\d+ attempts without success/).waitFor();
    await card
      .getByRole('row', { name: /error.*leaves are brown/ })
      .first()
      .waitFor();
    await expectAccessible(page);
    await card.getByLabel('Key').fill('north');
    await card.getByRole('button', { name: 'Find' }).press('Enter');
    await card.getByText('is not in the queue: there is nothing to do for it.').waitFor();
    await card
      .getByRole('row', { name: /success.*event/ })
      .first()
      .waitFor();
    await card.getByLabel('Key').fill('no/such <b>key');
    await card.getByLabel('Key').press('Enter');
    await card.getByText('is not in the queue of this server').waitFor();
    await card.getByLabel('Key').fill('south');
    await card.getByLabel('Key').press('Enter');
    await card.getByRole('link', { name: 'south', exact: true }).press('Enter');
    await page.getByRole('heading', { name: 'south', level: 1 }).waitFor();
  });

  it('have charts of rates, and of the median and the 99th percentile of durations and waits; each label shows the latest value', async () => {
    await visit(page, '#/controllers/plugin-2.gardener');
    const card = page.getByRole('region', { name: 'Rates and times' });
    await card.locator('canvas').nth(1).waitFor();
    for (const label of ['runs/s', 'errors/s', 'run p50 ms', 'run p99 ms', 'wait p50 ms', 'wait p99 ms'])
      await card.getByText(new RegExp(`^${label} \\d+\\.\\d$`)).waitFor();
  });

  it('name the leader of a controller, and its term', async () => {
    const { items } = await server.client.list(Lease);
    const lease = items.find(({ metadata }) => metadata.name === 'plugin-2.plugin.homeostat.internal');
    const { holderIdentity, leaseTransitions } = lease?.spec ?? {};
    expect(holderIdentity).to.be.a('string').and.not.equal('');
    await visit(page, '#/controllers/plugin-2.presser');
    const about = page.getByRole('region', { name: 'About' });
    await about.getByText(`Leader: ${holderIdentity}, term ${leaseTransitions}`, { exact: true }).waitFor();
  });

  it('list a stuck object on the overview, with a link to the cause', async () => {
    await visit(page, '#/');
    const card = page.getByRole('region', { name: 'Objects that need attention' });
    await card.getByRole('link', { name: 'Press' }).waitFor();
    await server.client.create(Press, { metadata: { name: 'old' }, spec: {} });
    const entry = card.getByRole('listitem').filter({ has: page.getByRole('link', { name: 'old', exact: true }) });
    await entry.getByText('the <b>screw</b> is stuck').waitFor();
    await expectAccessibleInThemes(page);
    await entry.getByRole('link', { name: 'plugin-2/presser' }).press('Enter');
    await page.getByRole('heading', { name: 'old', level: 1 }).waitFor();
    await page.locator('.run', { hasText: 'the <b>screw</b> is stuck' }).first().waitFor();
    await page.goBack();
    await entry.getByRole('link', { name: 'old', exact: true }).press('Enter');
    await page.locator('.explanation', { hasText: 'next attempt: when the object changes' }).waitFor();
  });

  it("show the progress of a kind's indexes until the indexes are built", async () => {
    const path = '/apis/plugin.homeostat.internal/v1alpha1/plugins';
    const indexing = [{ apiVersion: 'orchards.example.com/v1', kind: 'Press', indexed: 12_000 }];
    const isList = (url: URL): boolean => url.pathname === path && !url.searchParams.has('watch');
    // Gives plugin-2 the status that the server reports while it builds the indexes of many objects.
    await page.route(isList, async (route) => {
      const response = await route.fetch();
      const list = (await response.json()) as { readonly items: readonly PluginPart[] };
      const items = list.items.map((each) =>
        each.metadata.name === 'plugin-2' ? { ...each, status: { phase: 'Starting', indexing } } : each,
      );
      await route.fulfill({ response, json: { ...list, items } });
    });
    await visit(page, '#/plugins');
    await page.reload();
    const card = page.getByRole('region', { name: 'plugin-2', exact: true });
    const sentence = card.getByText('The indexes of Press are being built: 12,000 objects so far.');
    await sentence.waitFor();
    await expectAccessibleInThemes(page);
    await page.unroute(isList);
    const body = JSON.stringify({ metadata: { annotations: { 'example.com/seen': 'yes' } } });
    const headers = { 'content-type': 'application/merge-patch+json' };
    expect((await fetch(`${server.url}${path}/plugin-2`, { method: 'PATCH', headers, body })).status).to.equal(200);
    await sentence.waitFor({ state: 'detached' });
    await card.getByText('Started').waitFor();
  });

  it('show the deletions that wait for a plugin that does not run', async () => {
    for (const name of ['gone-1', 'gone-2']) await server.client.create(Press, { metadata: { name }, spec: {} });
    await server.settle();
    await visit(page, '#/plugins');
    const card = page.getByRole('region', { name: 'plugin-2', exact: true });
    const disableAfterDelete = async (name: string): Promise<void> => {
      await server.client.delete(Press, name);
      await card.getByRole('button', { name: 'Disable' }).click();
    };
    await disableAfterDelete('gone-1');
    await card.getByText('1 deleted object of Press waits for orchards.example.com/presser: gone-1').waitFor();
    await expectAccessibleInThemes(page);
    await card.getByRole('button', { name: 'Enable' }).click();
    await card.getByText('Started').waitFor();
    await disableAfterDelete('gone-2');
    await card.getByText('2 deleted objects of Press wait for orchards.example.com/presser: gone-1, gone-2').waitFor();
    await card.getByRole('button', { name: 'Enable' }).click();
    await card.getByText('deleted objects of Press', { exact: false }).waitFor({ state: 'detached' });
  });
});
