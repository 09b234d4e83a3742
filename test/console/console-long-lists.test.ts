import { expect } from 'chai';
import type { CDPSession, Page } from 'playwright-core';
import { eventually } from '@homeostat/controller-runtime/testing';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { browserTimeoutMs, ConsoleBrowser, consoleFolder, expectAccessible, visit } from './console.fixture.ts';
import { Ticket, ticketsPath } from './tickets.fixture.ts';

/** The number of objects: more than the 20,000 that a page shows at once. */
const count = 20_700;
const nameOf = (number: number): string => `t-${number.toString().padStart(6, '0')}`;

describe('a list of the console that is longer than a page [slow]', function () {
  this.timeout(2 * browserTimeoutMs);
  let browser: ConsoleBrowser;
  let server: TestServer;
  let page: Page;

  before(async function () {
    browser = await ConsoleBrowser.start(this);
    server = await startTestServer({ plugins: [consoleFolder], models: [Ticket] });
    for (let first = 0; first < count; first += 500) {
      const numbers = Array.from({ length: Math.min(500, count - first) }, (_, index) => nameOf(first + index));
      const title = first < 1000 ? 'one of a thousand' : 'one of many';
      await Promise.all(numbers.map((name) => server.client.create(Ticket, { metadata: { name }, spec: { title } })));
    }
    page = await browser.open(`${server.url}/console/#/kinds/${ticketsPath}`);
    await page.getByRole('link', { name: nameOf(0), exact: true }).waitFor();
  });

  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  afterEach(() => browser.expectQuiet());

  const rows = () => page.getByRole('region', { name: 'Ticket list' });
  const loaded = async (): Promise<number> => Number(await rows().locator('table').getAttribute('aria-rowcount')) - 1;

  async function scrollToEnd(): Promise<void> {
    await rows().evaluate((element) => {
      const { scrollHeight } = element as unknown as { scrollHeight: number };
      Object.assign(element, { scrollTop: scrollHeight });
    });
  }

  /** Scrolls until the wanted number of rows is loaded. */
  async function load(wanted: number): Promise<void> {
    await eventually(
      async () => {
        await scrollToEnd();
        return (await loaded()) >= wanted;
      },
      { timeoutMs: browserTimeoutMs },
    );
  }

  it('has the same column widths in the head and the rows, although most rows are not rendered', async () => {
    const [head, cell] = [
      page.getByRole('columnheader', { name: 'Age' }),
      page.locator('.rows tbody td:nth-child(3)').first(),
    ];
    const widthOf = async (part: typeof cell): Promise<number> => (await part.boundingBox())?.width ?? 0;
    expect(await widthOf(head)).to.be.above(300);
    expect(await widthOf(cell)).to.equal(await widthOf(head));
  });

  it('loads the next chunk of rows with all changes since the first chunk was read', async () => {
    await server.client.delete(Ticket, nameOf(600));
    await server.client.create(Ticket, { metadata: { name: `${nameOf(601)}-new` }, spec: { title: 'later' } });
    await server.client.create(Ticket, { metadata: { name: nameOf(600) }, spec: { title: 'again' } });
    await server.client.delete(Ticket, nameOf(602));
    await page.getByText('20,700 objects').waitFor();
    await load(1000);
    await rows().evaluate((element) => Object.assign(element, { scrollTop: 590 * 34 }));
    await page.getByRole('link', { name: `${nameOf(601)}-new`, exact: true }).waitFor();
    await page.getByRole('link', { name: nameOf(600), exact: true }).waitFor();
    expect(await page.getByRole('link', { name: nameOf(602), exact: true }).count()).to.equal(0);
  });

  it('continues after 20,000 rows with a next part, which has no objects of the first part', async () => {
    await load(20_000);
    await page.getByText(/^1 to 20,\d\d\d of 20,700$/).waitFor();
    await page.getByRole('button', { name: 'Next part' }).press('Enter');
    await page.getByText(/^20,\d\d\d to 20,\d\d\d of 20,700$/).waitFor();
    await server.client.patch(Ticket, nameOf(3), { type: 'merge', patch: { spec: { title: 'changed' } } });
    await server.client.create(Ticket, { metadata: { name: 'a-first' }, spec: { title: 'before all' } });
    await page.getByText('20,701 objects').waitFor();
    expect(await page.getByRole('link', { name: 'a-first', exact: true }).count()).to.equal(0);
    expect(await page.getByRole('link', { name: nameOf(3), exact: true }).count()).to.equal(0);
    await load(650);
    await server.client.create(Ticket, { metadata: { name: 'z-last' }, spec: { title: 'after all' } });
    await scrollToEnd();
    await page.getByRole('link', { name: 'z-last', exact: true }).waitFor();
  });

  it('shows the first part of the filtered list when the user sets a filter while a later part is shown', async () => {
    await page.getByLabel('Field', { exact: true }).fill('spec.title=again');
    await page.keyboard.press('Enter');
    await page.getByText('1 object', { exact: true }).waitFor();
    await page.getByRole('link', { name: nameOf(600), exact: true }).waitFor();
    await visit(page, `#/kinds/${ticketsPath}`);
    await page.getByRole('link', { name: 'a-first', exact: true }).waitFor();
  });

  it('shows the number of all objects that match a filter once the last chunk of the filtered list is loaded', async () => {
    await page.getByLabel('Field', { exact: true }).fill('spec.title=one of a thousand');
    await page.keyboard.press('Enter');
    await page.getByText('500 objects', { exact: true }).waitFor();
    // Of the 1,000 objects with this title, 997 are left: earlier tests deleted one, and changed the titles of two.
    await load(997);
    await page.getByText('997 objects', { exact: true }).waitFor();
    await visit(page, `#/kinds/${ticketsPath}`);
    await page.getByRole('link', { name: 'a-first', exact: true }).waitFor();
  });

  it('says that the text search covers only loaded rows, and how to search all objects', async () => {
    await page.getByRole('searchbox', { name: 'Text' }).fill(nameOf(20_600));
    const limit = page.getByText(/^The text is searched only in the [\d,]+ loaded rows, not in all 20,70\d objects\./);
    await limit.waitFor();
    expect(await page.getByRole('link', { name: nameOf(20_600), exact: true }).count()).to.equal(0);
    await expectAccessible(page);
    await page.getByLabel('Field', { exact: true }).fill(`metadata.name=${nameOf(20_600)}`);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: nameOf(20_600), exact: true }).waitFor();
    await limit.waitFor({ state: 'detached' });
    await visit(page, `#/kinds/${ticketsPath}`);
    await page.getByRole('link', { name: 'a-first', exact: true }).waitFor();
  });

  it('keeps about the same numbers of rows, DOM nodes and listeners while objects change', async () => {
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable');
    const rowsBefore = await loaded();
    await change(2000);
    const before = await sizesOf(session);
    await change(18_000);
    const after = await sizesOf(session);
    expect(await loaded()).to.equal(rowsBefore);
    expect(after.listeners).to.be.at.most(before.listeners + 20);
    expect(after.nodes).to.be.at.most(before.nodes * 1.2);
    expect(after.heap).to.be.at.most(before.heap + 8 * 1024 * 1024);
  });

  /** Changes loaded objects and objects that are not loaded yet. Waits until the page shows the last change. */
  async function change(changes: number): Promise<void> {
    for (let done = 0; done < changes; done += 500) {
      const names = Array.from({ length: 500 }, (_, index) => nameOf(index < 250 ? index : 1000 + index));
      const patch = { spec: { title: `change ${done} of ${changes}` } };
      await Promise.all(names.map((name) => server.client.patch(Ticket, name, { type: 'merge', patch })));
    }
    const name = `a-marker-${changes}`;
    await server.client.create(Ticket, { metadata: { name }, spec: { title: 'the end' } });
    await rows().evaluate((element) => Object.assign(element, { scrollTop: 0 }));
    await page.getByRole('link', { name, exact: true }).waitFor();
    await server.client.delete(Ticket, name);
    await page.getByRole('link', { name, exact: true }).waitFor({ state: 'detached' });
  }
});

/** Returns the numbers of DOM nodes and listeners and the size of the heap, after a garbage collection. */
async function sizesOf(session: CDPSession) {
  await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  const valueOf = (wanted: string): number => metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN;
  return { nodes: valueOf('Nodes'), listeners: valueOf('JSEventListeners'), heap: valueOf('JSHeapUsedSize') };
}
