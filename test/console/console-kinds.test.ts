import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { browserTimeoutMs, ConsoleBrowser, consoleFolder, visit } from './console.fixture.ts';

describe('namespaces and namespaced kinds in the console', function () {
  this.timeout(browserTimeoutMs);
  let browser: ConsoleBrowser;
  let server: TestServer;
  let page: Page;

  before(async function () {
    browser = await ConsoleBrowser.start(this);
    server = await startTestServer({ plugins: [consoleFolder] });
    page = await browser.open(`${server.url}/console/`);
  });

  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  afterEach(() => browser.expectQuiet());

  it('have objects that can be created in a namespace, and filtered by the namespace', async () => {
    await visit(page, '#/create/configmaps');
    expect(await page.getByLabel('namespace required', { exact: true }).inputValue()).to.equal('default');
    await page.getByLabel('name required', { exact: true }).fill('colours');
    await page.getByRole('button', { name: 'Review and create' }).click();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: 'colours', level: 1 }).waitFor();
    expect(page.url()).to.include('/objects/configmaps/default/colours');
    await visit(page, '#/kinds/configmaps?ns=default');
    await page.getByRole('columnheader', { name: 'Namespace' }).waitFor();
    await page.getByRole('row', { name: /default colours/ }).waitFor();
    await page.getByLabel('Namespace', { exact: true }).fill('other');
    await page.keyboard.press('Enter');
    await page.getByText('Nothing matches the filters').waitFor();
  });

  it('have lists that show a button to clear the filters if no object matches them', async () => {
    await visit(page, '#/kinds/namespaces?q=nowhere');
    await page.getByText(/^0 of \d+ objects?$/).waitFor();
    await page.getByRole('button', { name: 'Clear the filters' }).press('Enter');
    await page.getByRole('link', { name: 'default', exact: true }).waitFor();
  });

  it("have a form that shows an optional input for each label, with the label's key as the caption", async () => {
    await visit(page, '#/objects/namespaces/-/default?tab=edit');
    await page.getByLabel('kubernetes.io/metadata.name', { exact: true }).waitFor();
  });
});
