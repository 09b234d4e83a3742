import type { Page } from 'playwright-core';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { passCompactions } from '../support/servers/pass-time.ts';
import { TcpProxy } from '../support/network/tcp-proxy.ts';
import { browserTimeoutMs, ConsoleBrowser, consoleFolder, expectAccessible } from './console.fixture.ts';
import { Ticket, ticketsPath } from './tickets.fixture.ts';

describe('a broken connection of the console to the server [slow]', function () {
  this.timeout(browserTimeoutMs);
  const clock = new FakeClock();
  let browser: ConsoleBrowser;
  let server: TestServer;
  let proxy: TcpProxy;
  let page: Page;

  before(async function () {
    browser = await ConsoleBrowser.start(this);
    const retention = { minAgeMs: 60_000, minChanges: 0 };
    server = await startTestServer({ plugins: [consoleFolder], models: [Ticket], clock, retention });
    proxy = await TcpProxy.start(server.url);
    for (const name of ['stays', 'goes']) await create(name);
    page = await browser.open(`${proxy.url}console/#/kinds/${ticketsPath}`);
    await page.getByText('live', { exact: true }).waitFor();
  });

  after(async () => {
    await browser?.close();
    await proxy?.close();
    await server?.stop();
  });

  afterEach(() => browser.expectQuiet());

  const create = async (name: string): Promise<unknown> =>
    server.client.create(Ticket, { metadata: { name }, spec: { title: name } });

  it('is shown; when it is restored, the watch continues from its revision without another list', async () => {
    proxy.down();
    await page.getByText('The connection to the server is lost.', { exact: false }).waitFor();
    await expectAccessible(page);
    await create('meanwhile');
    const lists: string[] = [];
    page.on('request', (request) => {
      if (/tickets\?(?!.*watch=true)/.test(request.url())) lists.push(request.url());
    });
    proxy.up();
    await page.getByRole('link', { name: 'meanwhile', exact: true }).waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    if (lists.length > 0) throw new Error(`listed again: ${lists.join()}`);
    await page.getByText('read again', { exact: true }).waitFor({ state: 'detached' });
  });

  it('leads to another list and a note on the page when the revision of the watch is compacted meanwhile', async () => {
    proxy.down();
    await page.getByText('The connection to the server is lost.', { exact: false }).waitFor();
    await server.client.delete(Ticket, 'goes');
    await create('after-all');
    await passCompactions(clock, 4);
    proxy.up();
    await page.getByText('read again', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'after-all', exact: true }).waitFor();
    await page.getByRole('link', { name: 'goes', exact: true }).waitFor({ state: 'detached' });
    await page.getByText('live', { exact: true }).waitFor();
  });
});
