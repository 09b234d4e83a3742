import { definePlugin } from 'homeostat';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { browserTimeoutMs, ConsoleBrowser, consoleFolder } from './console.fixture.ts';

describe('the console of a server with another service domain [slow]', function () {
  this.timeout(browserTimeoutMs);
  let browser: ConsoleBrowser;
  let server: TestServer;

  before(async function () {
    browser = await ConsoleBrowser.start(this);
    const plugin = definePlugin({ models: [] });
    server = await startTestServer({ plugins: [consoleFolder, plugin], serviceDomain: 'ops.example.org' });
  });

  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  it('shows the plugins, and disables a plugin', async () => {
    const page = await browser.open(`${server.url}/console/#/plugins`);
    const card = page.getByRole('region', { name: 'plugin-2', exact: true });
    await card.getByText('Started').waitFor();
    await card.getByRole('button', { name: 'Disable' }).click();
    await card.getByText('Stopped').waitFor();
    browser.expectQuiet();
  });
});
