import { expect } from 'chai';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { silentLogger } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { brokenPlugin } from './broken-plugin.fixture.ts';
import {
  browserTimeoutMs,
  ConsoleBrowser,
  consoleFolder,
  expectAccessible,
  expectAccessibleInThemes,
  takePicture,
  visit,
} from './console.fixture.ts';
import { Ticket, ticketsPath } from './tickets.fixture.ts';

const taskFolder = fileURLToPath(new URL('../../../examples/11-console-panel', import.meta.url));

describe('objects in the console [slow]', function () {
  this.timeout(browserTimeoutMs);
  const faults = { isBroken: false };
  let browser: ConsoleBrowser;
  let server: TestServer;
  let page: Page;

  before(async function () {
    browser = await ConsoleBrowser.start(this);
    const plugins = [consoleFolder, taskFolder, brokenPlugin(faults)];
    server = await startTestServer({ plugins, logger: silentLogger, reportRuns: true });
    page = await browser.open(`${server.url}/console/`);
  });

  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  beforeEach(() => {
    faults.isBroken = false;
  });

  afterEach(() => browser.expectQuiet());

  const placeOf = (name: string, tab = ''): string =>
    `#/objects/${ticketsPath}/-/${name}${tab === '' ? '' : `?tab=${tab}`}`;

  it('are created in a form, which marks the field that the server refuses', async () => {
    await visit(page, `#/create/${ticketsPath}`);
    await page.getByLabel('name required', { exact: true }).fill('printer');
    await page.getByLabel('title required').fill('Paper is stuck');
    await page.getByLabel('priority').fill('9');
    await page.getByRole('button', { name: 'Review and create' }).click();
    const priority = page.getByLabel('priority');
    await page.locator('.form-problems').waitFor();
    expect(await priority.getAttribute('aria-invalid')).to.equal('true');
    await priority.fill('2');
    await page.getByRole('button', { name: 'Review and create' }).click();
    await page.getByRole('button', { name: 'Create', exact: true, disabled: false }).waitFor();
    await expectAccessibleInThemes(page);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: 'printer', level: 1 }).waitFor();
    const stored = await server.client.get(Ticket, 'printer');
    expect(stored?.spec).to.deep.equal({ title: 'Paper is stuck', priority: 2 });
  });

  it('are merged with changes of other clients during an edit; the page asks when the user and another client changed the same field', async () => {
    await server.client.create(Ticket, { metadata: { name: 'merged' }, spec: { title: 'first', priority: 1 } });
    await visit(page, placeOf('merged', 'edit'));
    await page.getByLabel('title required').fill('typed by hand');
    await server.client.patch(Ticket, 'merged', { type: 'merge', patch: { spec: { priority: 4 } } });
    await page.getByText('Merged the changes of').waitFor();
    await eventually(async () => (await page.getByLabel('priority').inputValue()) === '4');
    expect(await page.getByLabel('title required').inputValue()).to.equal('typed by hand');
    await server.client.patch(Ticket, 'merged', { type: 'merge', patch: { spec: { title: 'by another' } } });
    await page.getByText('Others changed the same fields meanwhile').waitFor();
    await expectAccessibleInThemes(page);
    await page.getByRole('button', { name: 'Keep mine' }).click();
    await page.getByRole('button', { name: 'Review and save' }).click();
    await page.locator('dialog .diff-added', { hasText: 'typed by hand' }).waitFor();
    await expectAccessibleInThemes(page);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await eventually(async () => (await server.client.get(Ticket, 'merged'))?.spec.title === 'typed by hand');
  });

  it('are validated by the server while the user types, in the form and in the text as YAML or JSON', async () => {
    await server.client.create(Ticket, { metadata: { name: 'typed' }, spec: { title: 'typed', priority: 3 } });
    await visit(page, placeOf('typed', 'edit'));
    await page.getByLabel('priority').fill('9');
    await page.locator('.cm-lint-marker-error').waitFor();
    expect(await page.getByLabel('priority').getAttribute('aria-invalid')).to.equal('true');
    await page.getByLabel('priority').fill('2');
    await page.locator('.cm-lint-marker-error').waitFor({ state: 'detached' });
    await page.getByLabel('Format of the text').selectOption('JSON');
    await page.locator('.cm-line', { hasText: '"priority": 2' }).waitFor();
    await page.getByLabel('Format of the text').selectOption('YAML');
    await page.locator('.cm-line', { hasText: /^ {2}priority: 2$/ }).click();
    await page.keyboard.press('End');
    await page.keyboard.type('\nstate: o');
    await page.locator('.cm-tooltip-autocomplete [role=option]', { hasText: /^open$/ }).waitFor();
    await expectAccessible(page);
    await eventually(async () => {
      await page.keyboard.press('Enter');
      return (await page.getByLabel('state').inputValue()) === 'open';
    });
    await page.getByRole('button', { name: 'Discard' }).click();
  });

  it('can be edited by typing over selected text without breaking the content security policy', async () => {
    await server.client.create(Ticket, { metadata: { name: 'retyped' }, spec: { title: 'before', priority: 3 } });
    await visit(page, placeOf('retyped', 'edit'));
    await page.locator('.cm-line', { hasText: 'title: before' }).click();
    for (const key of ['Home', 'Shift+ArrowDown', 'Shift+End']) await page.keyboard.press(key);
    await page.keyboard.type('z');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('spec: {title: after}');
    await eventually(async () => (await page.getByLabel('title required').inputValue()) === 'after');
    // The browser has added no inline styles to the typed text.
    expect(await page.locator('.cm-content [style]').count()).to.equal(0);
    await page.getByRole('button', { name: 'Discard' }).click();
    await visit(page, placeOf('retyped', 'raw'));
    const raw = page.locator('.cm-content').first();
    await raw.click();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('not written');
    await raw.getByText('retyped').first().waitFor();
    expect(await raw.textContent()).not.to.include('not written');
  });

  it('are filtered by a value of an indexed field, for which the page suggests values', async () => {
    await server.client.create(Ticket, { metadata: { name: 'red' }, spec: { title: 'Red <b>ink</b>' } });
    await visit(page, `#/kinds/${ticketsPath}`);
    await page.getByLabel('Field', { exact: true }).fill('spec.title=R');
    const option = page.locator('datalist option[value="spec.title=Red <b>ink</b>"]');
    await option.waitFor({ state: 'attached' });
    await page.getByLabel('Field', { exact: true }).fill('spec.title=Red <b>ink</b>');
    await page.keyboard.press('Enter');
    await page.getByText('1 object', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'red', exact: true }).waitFor();
  });

  it("show which field manager applies a field that the user has changed, and offer to take the field manager's value", async () => {
    const metadata = { name: 'applied' };
    await server.client.apply(Ticket, { metadata, spec: { title: 'by ci', priority: 3 } }, { fieldManager: 'ci' });
    await visit(page, placeOf('applied', 'edit'));
    await page.getByLabel('priority').fill('5');
    await page.getByRole('button', { name: 'Review and save' }).click();
    await page.getByRole('heading', { name: 'Fields that other managers apply' }).waitFor();
    await expectAccessibleInThemes(page);
    await page.getByRole('button', { name: 'Take theirs' }).click();
    await page.getByText('Nothing would change.').waitFor();
    await page.keyboard.press('Escape');
  });

  it('show the stack of a failing run two clicks from the overview', async () => {
    faults.isBroken = true;
    await server.client.create(Ticket, { metadata: { name: 'failing' }, spec: { title: 'breaks' } });
    await visit(page, '#/');
    await page
      .getByRole('region', { name: 'Controllers that fail' })
      .getByRole('link', { name: 'failing', exact: true })
      .click();
    await page.locator('.run summary').first().click();
    await page.locator('.run details[open] .stack-trace', { hasText: 'broken-plugin.fixture' }).first().waitFor();
    expect(await page.locator('.run-body b').count()).to.equal(0);
  });

  it('can be paused, resumed and reconciled by buttons', async () => {
    await server.client.create(Ticket, { metadata: { name: 'paused' }, spec: { title: 'rests' } });
    await visit(page, placeOf('paused', 'runs'));
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await page.getByRole('button', { name: 'Reconcile now' }).click();
    await page.locator('.run summary', { hasText: 'manual' }).first().waitFor();
  });

  it('show the reason why a deleted object still exists', async () => {
    await server.client.create(Ticket, { metadata: { name: 'stays' }, spec: { title: 'cleaned up later' } });
    await server.settle();
    faults.isBroken = true;
    await visit(page, placeOf('stays'));
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Delete', exact: true, disabled: false }).waitFor();
    await expectAccessibleInThemes(page);
    await page.locator('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    const blocked = page.getByRole('region', { name: 'Why this object still exists' });
    await blocked.getByText('tickets.example.com/keeper').waitFor();
    await blocked.getByText('the <b>printer</b> is on fire').waitFor();
    await blocked.getByText('tries again').waitFor();
    expect(await page.getByRole('button', { name: 'Delete…' }).count()).to.equal(0);
  });

  it('show hostile content as text: markup, bidi marks, a text of 1 MB and 10,000 labels', async () => {
    const title = `<img src=x onerror=alert(1)>\u202e<script>alert(2)</script>${'x'.repeat(1_000_000)}`;
    const labels = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`example.com/l${index}`, 'v']));
    await server.client.create(Ticket, { metadata: { name: 'hostile', labels }, spec: { title } });
    await visit(page, placeOf('hostile'));
    await page.getByText('<img src=x onerror=alert(1)>⟨U+202E⟩<script>', { exact: false }).first().waitFor();
    await page.getByRole('button', { name: '9,980 more' }).waitFor();
    expect(await page.locator('main img, main script').count()).to.equal(0);
    await visit(page, `#/kinds/${ticketsPath}?q=hostile`);
    await page.getByRole('link', { name: 'hostile', exact: true }).waitFor();
  });

  it('have panels and pages of plugins, and a panel that throws affects no other part of the page', async () => {
    const tasks = `${server.url}/apis/tasks.example.com/v1/tasks`;
    const body = {
      apiVersion: 'tasks.example.com/v1',
      kind: 'Task',
      metadata: { name: 'half' },
      spec: { title: '<i>half</i>', done: 50 },
    };
    await fetch(tasks, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    await visit(page, '#/objects/tasks.tasks.example.com/-/half');
    await page.getByText('50 % of “<i>half</i>” is done.').waitFor();
    await page.getByRole('link', { name: 'Task board' }).click();
    await page.locator('main li', { hasText: '<i>half</i> – 50 %' }).waitFor();
    await page.route('**/progress.js', (route) =>
      route.fulfill({
        contentType: 'text/javascript',
        body: "export const mount = () => { throw new Error('panel is broken'); };",
      }),
    );
    const other = await page.context().newPage();
    await other.route('**/progress.js', (route) =>
      route.fulfill({
        contentType: 'text/javascript',
        body: "export const mount = () => { throw new Error('panel is broken'); };",
      }),
    );
    await other.goto(`${server.url}/console/#/objects/tasks.tasks.example.com/-/half`);
    await other.getByText('panel is broken').waitFor();
    await other.getByRole('region', { name: 'Metadata' }).waitFor();
    await other.close();
  });

  it('have columns of plugins with live values, and buttons of plugins that change an object', async () => {
    const tasks = `${server.url}/apis/tasks.example.com/v1/tasks`;
    const write = async (method: string, at: string, body: object, type = 'application/json'): Promise<void> => {
      const response = await fetch(at, { method, headers: { 'content-type': type }, body: JSON.stringify(body) });
      expect(response.ok, await response.text()).to.equal(true);
    };
    const metadata = { name: 'shared', labels: { 'example.com/team': 'red' } };
    const spec = { title: 'for the team', done: 10 };
    await write('POST', tasks, { apiVersion: 'tasks.example.com/v1', kind: 'Task', metadata, spec });
    await visit(page, '#/kinds/tasks.tasks.example.com');
    await page.getByRole('columnheader', { name: 'Team' }).waitFor();
    await page.getByRole('row', { name: /shared .* red$/ }).waitFor();
    const patch = { metadata: { labels: { 'example.com/team': 'blue' } } };
    await write('PATCH', `${tasks}/shared`, patch, 'application/merge-patch+json');
    await page.getByRole('row', { name: /shared .* blue$/ }).waitFor();
    await expectAccessible(page);
    await visit(page, '#/objects/tasks.tasks.example.com/-/shared');
    await page.getByRole('button', { name: 'Finish' }).press('Enter');
    await page.getByText('shared is finished').waitFor();
    await page.getByText('100 % of “for the team” is done.').waitFor();
  });

  it('of the kind Plugin are enabled and disabled with a button', async () => {
    await visit(page, '#/plugins');
    const card = page.getByRole('region', { name: 'task', exact: true });
    await card.getByRole('button', { name: 'Disable' }).click();
    await card.getByText('Stopped').waitFor();
    await card.getByRole('button', { name: 'Enable' }).click();
    await card.getByText('Started').waitFor();
  });

  it('are shown as raw watch events of a kind', async () => {
    await visit(page, `#/watch?kind=${ticketsPath}`);
    await page.getByText('LISTED').waitFor();
    const hint = page.getByText('Nothing has changed since the list was read.', { exact: false });
    await hint.waitFor();
    await server.client.create(Ticket, { metadata: { name: 'streamed' }, spec: { title: 'seen' } });
    await page.locator('.stream summary', { hasText: 'streamed' }).first().waitFor();
    await hint.waitFor({ state: 'detached' });
  });

  it('have an access page that shows whether a user may do something', async () => {
    await visit(page, '#/access');
    const form = page.getByRole('region', { name: 'May a user do this?' });
    await form.getByLabel('User', { exact: true }).fill('nobody');
    await form.getByRole('button', { name: 'Ask' }).click();
    await form.getByText('nobody may not').waitFor();
  });

  it('have a history that compares two states, and restores one', async () => {
    await server.client.create(Ticket, { metadata: { name: 'restored' }, spec: { title: 'as it was' } });
    await server.client.patch(Ticket, 'restored', { type: 'merge', patch: { spec: { title: 'as it is' } } });
    await visit(page, placeOf('restored', 'history'));
    const created = page.locator('.run', { hasText: 'create' }).first();
    const updated = page.locator('.run', { hasText: 'spec.title' }).first();
    for (const item of [created, updated]) await item.getByRole('checkbox').click();
    const comparison = page.getByRole('region', { name: 'From revision' });
    await comparison.locator('.diff-removed', { hasText: 'as it was' }).waitFor();
    await created.locator('summary').click({ position: { x: 200, y: 8 } });
    await created.getByRole('button', { name: 'Restore this state…' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await eventually(async () => (await server.client.get(Ticket, 'restored'))?.spec.title === 'as it was');
  });

  const shownPages: readonly (readonly [fragment: string, picture?: string])[] = [
    ['#/', 'overview'],
    [`#/kinds/${ticketsPath}`, 'list'],
    [placeOf('failing'), 'object'],
    [placeOf('merged', 'edit'), 'edit'],
    [placeOf('printer', 'tree')],
    [placeOf('failing', 'runs'), 'runs'],
    [placeOf('merged', 'history'), 'history'],
    [placeOf('printer', 'events')],
    [placeOf('printer', 'raw')],
    [`#/create/${ticketsPath}`],
    ['#/controllers', 'controllers'],
    ['#/controllers/plugin-3.keeper', 'controller'],
    ['#/plugins', 'plugins'],
    [`#/watch?kind=${ticketsPath}`, 'watch'],
    ['#/access', 'access'],
    ['#/pages/task/board', 'page-of-a-plugin'],
  ];

  for (const theme of ['light', 'dark'] as const) {
    it(`have pages without accessibility problems (axe-core) in the ${theme} theme`, async () => {
      faults.isBroken = true;
      await server.client.patch(Ticket, 'failing', {
        type: 'merge',
        patch: { spec: { title: `breaks in the ${theme}` } },
      });
      const shown = await browser.open(`${server.url}/console/`, theme);
      await shown.getByRole('region', { name: 'Controllers that fail' }).waitFor();
      for (const [fragment, picture] of shownPages) {
        await visit(shown, fragment);
        await shown.getByRole('heading', { level: 1 }).waitFor();
        if (/edit|create|raw/.test(fragment)) await shown.locator('.cm-content').first().waitFor();
        await expectAccessible(shown);
        if (picture !== undefined && theme === 'light') await takePicture(shown, picture);
      }
      await shown.context().close();
    });
  }

  it('are counted on the overview when they fail, even those that the overview does not list', async () => {
    faults.isBroken = true;
    for (let number = 0; number < 13; number += 1)
      await server.client.create(Ticket, { metadata: { name: `late-${number}` }, spec: { title: 'breaks' } });
    await visit(page, '#/');
    await page.getByRole('link', { name: /^\d+ more that fail$/ }).waitFor();
    await page.getByRole('region', { name: 'Rates' }).getByText('errors/s').waitFor();
  });

  it('the page of a controller says when there is no controller of this name', async () => {
    await visit(page, '#/controllers/no.such');
    await page.getByText('There is no controller of this name').waitFor();
    await page.getByRole('link', { name: 'See all controllers' }).press('Enter');
    await page.getByRole('columnheader', { name: 'wait p99' }).waitFor();
  });
});
