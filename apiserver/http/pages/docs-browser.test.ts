import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import Koa from 'koa';
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import { Person, routes, servedModels } from '../../openapi/served-models.fixture.ts';
import { startApiServer } from '../../server/api-server.ts';
import type { ApiServer } from '../../server/api-server.ts';
import { docsRoutes } from './docs-routes.ts';
import { openApiRoutes } from './open-api-routes.ts';

const executablePath = '/usr/bin/chromium';

const persons = '/apis/people.example.com/v1alpha1/persons';

// The first start of a browser on a busy machine is slow.
const browserTimeoutMs = 60_000;

describe('/docs in a browser [slow]', function () {
  this.timeout(browserTimeoutMs);
  let browser: Browser;
  let page: Page;
  /**
   * The errors of the page: errors of scripts, failed requests, and violations of its policy, which browsers report as
   * console errors.
   */
  let complaints: string[];

  before(async function () {
    if (!existsSync(executablePath)) this.skipBecause(`there is no ${executablePath}: apt-get install chromium`);
    // Chromium cannot use its sandbox when it runs as root.
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  });

  after(() => browser?.close());

  beforeEach(async () => {
    complaints = [];
    page = await browser.newPage();
    page.setDefaultTimeout(browserTimeoutMs / 3);
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      if (message.type() !== 'log') complaints.push(message.text());
    });
    page.on('requestfailed', (request) => complaints.push(`${request.url()} failed`));
  });

  afterEach(() => page.close());

  /** Opens an operation by its path and summary. */
  async function openOperation(path: string, summary: string): Promise<void> {
    const block = page.locator('.opblock-summary', { hasText: path }).filter({ hasText: summary });
    await block.first().waitFor();
    await block.first().click();
    await page.locator('.opblock.is-open').waitFor();
  }

  describe('on an API server', () => {
    let server: ApiServer;

    before(async () => {
      server = await startApiServer({ database: 'memory:', port: 0 });
      server.schemeManager.register(Person);
      await server.whenReady({ group: 'people.example.com', version: 'v1alpha1', kind: 'Person' });
    });

    after(() => server.stop());

    it('shows a generated operation, and runs it with Try it out and Execute', async () => {
      await server.client.create(Person, { metadata: { name: 'ada' }, spec: { name: 'Ada Lovelace' } });
      await page.goto(`${server.url}/docs`);
      await openOperation(persons, 'List or watch');
      await page.getByRole('button', { name: 'Try it out' }).click();
      await page.getByRole('button', { name: 'Execute' }).click();
      const answer = page.locator('.live-responses-table');
      await answer.getByText('Ada Lovelace').first().waitFor();
      expect(await answer.locator('.response-col_status').last().innerText()).to.match(/^200/);
      expect(complaints).to.deep.equal([]);
    });

    it('creates an object of a kind whose schema refers to itself, with the body that the page proposes', async () => {
      await page.goto(`${server.url}/docs`);
      await openOperation(persons, 'Create a Person');
      await page.getByRole('button', { name: 'Try it out' }).click();
      const proposed = JSON.parse(await page.locator('.opblock.is-open textarea').inputValue()) as object;
      expect(proposed).to.have.nested.property('spec.age');
      expect(proposed).to.not.have.nested.property('spec.otherPerson.spec');
      const answered = page.waitForResponse((response) => response.request().method() === 'POST');
      await page.getByRole('button', { name: 'Execute' }).click();
      expect((await answered).status(), await (await answered).text()).to.equal(201);
      expect(complaints).to.deep.equal([]);
    });

    it('shows the kinds of plugins first and unfolded, folds the kinds that every server has, and filters all kinds', async () => {
      await page.goto(`${server.url}/docs`);
      await page.locator('.opblock-tag').first().waitFor();
      const tags = page.locator('.opblock-tag');
      const names = await tags.evaluateAll((all) => all.map((each) => each.getAttribute('data-tag')));
      expect(names.indexOf('Person (people.example.com/v1alpha1)')).to.equal(0);
      expect(names).to.include.members(['CustomResourceDefinition (apiextensions.k8s.io/v1)', 'Event (v1)']);
      await page.locator('.opblock-summary').first().waitFor();
      const open = await tags.evaluateAll((all) =>
        all.filter((each) => each.getAttribute('data-is-open') === 'true').map((each) => each.getAttribute('data-tag')),
      );
      expect(open).to.deep.equal(['Person (people.example.com/v1alpha1)']);
      await page.locator('.operation-filter-input').fill('/EVENTS.k8s');
      await tags.nth(1).waitFor({ state: 'detached' });
      await tags.first().click();
      await page.locator('.opblock-summary', { hasText: 'Create an Event' }).first().waitFor();
      expect(await page.locator('.info .version').first().innerText()).to.match(/^\s*0\.1\.0\s*$/);
      expect(complaints).to.deep.equal([]);
    });

    it('creates an object when a user clicks “Try it out”, edits the body, and clicks “Execute”', async () => {
      await page.goto(`${server.url}/docs`);
      await openOperation(persons, 'Create a Person');
      await page.getByRole('button', { name: 'Try it out' }).click();
      const body = { apiVersion: 'people.example.com/v1alpha1', kind: 'Person', metadata: { name: 'grace' } };
      await page.locator('.opblock.is-open textarea').fill(JSON.stringify({ ...body, spec: { name: 'Grace' } }));
      const answered = page.waitForResponse((response) => response.request().method() === 'POST');
      await page.getByRole('button', { name: 'Execute' }).click();
      expect((await answered).status()).to.equal(201);
      expect(complaints).to.deep.equal([]);
    });
  });

  describe('with endpoints of plugins', () => {
    let server: Server;

    before(async () => {
      const app = new Koa();
      app.use(openApiRoutes({ models: servedModels, endpointRoutes: () => routes }));
      app.use(docsRoutes('homeostat.internal'));
      server = createServer(app.callback());
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    });

    after(async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    });

    it('shows the endpoints of plugins beside the generated operations of every kind', async () => {
      await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/docs`);
      await openOperation('/persons/{name}/greeting', 'Greets a person');
      expect(await page.locator('.opblock.is-open .parameter__name').allInnerTexts()).to.include('loud');
      const tags = await page.locator('.opblock-tag').allInnerTexts();
      expect(tags.join()).to.contain('Plugin people').and.to.contain('Machine (people.example.com/v1alpha1)');
      expect(complaints).to.deep.equal([]);
    });
  });
});
