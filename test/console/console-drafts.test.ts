import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { eventually } from '@homeostat/controller-runtime/testing';
import { browserTimeoutMs, ConsoleBrowser, consoleFolder, expectAccessible, visit } from './console.fixture.ts';
import { Ticket, ticketsPath } from './tickets.fixture.ts';

describe('an edit in the console that is not saved [slow]', function () {
  this.timeout(browserTimeoutMs);
  let browser: ConsoleBrowser;
  let server: TestServer;
  let page: Page;

  before(async function () {
    browser = await ConsoleBrowser.start(this);
    server = await startTestServer({ plugins: [consoleFolder], models: [Ticket] });
    page = await browser.open(`${server.url}/console/`);
  });

  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  afterEach(() => browser.expectQuiet());

  const editOf = (name: string): string => `#/objects/${ticketsPath}/-/${name}?tab=edit`;
  const title = () => page.getByLabel('title required');
  const create = async (name: string): Promise<unknown> =>
    server.client.create(Ticket, { metadata: { name }, spec: { title: 'stored', priority: 1 } });
  const patch = async (name: string, spec: object): Promise<unknown> =>
    server.client.patch(Ticket, name, { type: 'merge', patch: { spec } });

  it('is kept while the user visits other pages, and is merged with changes of other clients', async () => {
    await create('looked');
    await visit(page, editOf('looked'));
    await title().fill('typed');
    await page.getByRole('link', { name: 'Summary' }).click();
    await page.getByRole('link', { name: 'Edit not saved' }).waitFor();
    await expectAccessible(page);
    await visit(page, '#/plugins');
    await page.getByRole('heading', { name: 'Plugins', level: 1 }).waitFor();
    await patch('looked', { priority: 4, title: 'by another' });
    await visit(page, editOf('looked'));
    await page.getByText('Others changed the same fields meanwhile').waitFor();
    expect(await title().inputValue()).to.equal('typed');
    expect(await page.getByLabel('priority').inputValue()).to.equal('4');
    // After a visit to another page, the question about the conflict is still open.
    await visit(page, '#/');
    await visit(page, editOf('looked'));
    await page.getByRole('button', { name: 'Keep mine' }).click();
    await page.getByRole('button', { name: 'Review and save' }).click();
    await page.getByRole('button', { name: 'Save', exact: true, disabled: false }).click();
    await eventually(async () => (await server.client.get(Ticket, 'looked'))?.spec.title === 'typed');
    await page.getByRole('link', { name: 'Edit', exact: true }).waitFor();
  });

  it('stays in the text editor while it has a mistake, also when other clients change the object', async () => {
    await create('broken');
    await visit(page, editOf('broken'));
    await page.locator('.cm-line', { hasText: 'title: stored' }).click();
    await page.keyboard.press('End');
    await page.keyboard.type(' : x: y');
    await page.getByText('The text has a mistake in line', { exact: false }).waitFor();
    await patch('broken', { priority: 5 });
    await page.getByRole('link', { name: 'Summary' }).click();
    await page.getByRole('region', { name: 'Spec' }).getByText('5', { exact: true }).waitFor();
    await visit(page, editOf('broken'));
    await page.locator('.cm-line', { hasText: 'title: stored : x: y' }).click();
    await page.keyboard.press('End');
    for (let count = 0; count < ' : x: y'.length; count += 1) await page.keyboard.press('Backspace');
    await page.keyboard.type(' and typed');
    await page.getByText('Merged the changes of', { exact: false }).waitFor();
    expect(await title().inputValue()).to.equal('stored and typed');
    expect(await page.getByLabel('priority').inputValue()).to.equal('5');
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('link', { name: 'Edit', exact: true }).waitFor();
  });

  it('is kept on the page that creates an object until the user creates the object or starts again', async () => {
    const place = `#/create/${ticketsPath}`;
    await visit(page, place);
    await title().fill('begun');
    await visit(page, '#/');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await visit(page, place);
    await page.getByText('The text that you typed before is still here.').waitFor();
    expect(await title().inputValue()).to.equal('begun');
    await page.getByRole('button', { name: 'Start again' }).press('Enter');
    expect(await title().inputValue()).to.equal('');
    await page.getByLabel('name required', { exact: true }).fill('made');
    await title().fill('made');
    await page.getByRole('button', { name: 'Review and create' }).click();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: 'made', level: 1 }).waitFor();
    await visit(page, place);
    await title().waitFor();
    expect(await title().inputValue()).to.equal('');
  });

  it('keeps an item of a list or a map while the user clears the input of the item and types a new value', async () => {
    await create('listed');
    await patch('listed', { watchers: ['ada', 'bob'] });
    const labels = { team: 'red' };
    await server.client.patch(Ticket, 'listed', { type: 'merge', patch: { metadata: { labels } } });
    await visit(page, editOf('listed'));
    const first = page.getByLabel('watchers 1', { exact: true });
    await first.fill('');
    await first.pressSequentially('eve');
    const team = page.getByLabel('team', { exact: true });
    await team.fill('');
    await team.pressSequentially('blue');
    expect(await page.getByLabel('watchers 2', { exact: true }).inputValue()).to.equal('bob');
    await page.getByRole('button', { name: 'Review and save' }).click();
    await page.getByRole('button', { name: 'Save', exact: true, disabled: false }).click();
    await page.getByText('listed is saved').waitFor();
    const stored = await server.client.get(Ticket, 'listed');
    expect(stored?.spec.watchers).to.deep.equal(['eve', 'bob']);
    expect(stored?.metadata.labels).to.deep.equal({ team: 'blue' });
  });

  it('is lost only after a confirmation when the browser leaves the console', async () => {
    await create('left');
    await visit(page, editOf('left'));
    await title().fill('not saved');
    await page.getByRole('link', { name: 'Summary' }).click();
    const asked: string[] = [];
    page.once('dialog', (dialog) => {
      asked.push(dialog.type());
      void dialog.dismiss();
    });
    await page.reload({ timeout: 1000 }).catch(() => undefined);
    expect(asked).to.deep.equal(['beforeunload']);
    await page.getByRole('link', { name: 'Edit not saved' }).click();
    expect(await title().inputValue()).to.equal('not saved');
    await page.getByRole('button', { name: 'Discard' }).click();
  });
});
