import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createClient } from 'homeostat';
import type { Client } from 'homeostat';
import {
  checkConvergence,
  createExternalSystem,
  createFaultInjectingFetch,
  createFaultyClient,
  createTestKit,
  eventually,
  FakeClock,
  planChanges,
  startTestServer,
} from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { Badge, Person } from './support/models/staff.ts';
import { saysWhose as personController, waitsToBeTold } from './support/models/staff-controllers.ts';

const guide = new URL('../../docs/testing.md', import.meta.url);
const here = new URL('../testing-guide.test.ts', import.meta.url);

/** Returns code without white space and without trailing commas. */
const bare = (code: string): string => code.replaceAll(/\s+/g, '').replaceAll(/,(?=[)\]}])/g, '');

describe('docs/testing.md', () => {
  it('shows exactly the code that runs in this test file', async () => {
    const source = bare(await readFile(here, 'utf8'));
    const snippets = [...(await readFile(guide, 'utf8')).matchAll(/```ts\n([\s\S]+?)```/g)].map(
      ([, code = '']) => code,
    );
    expect(snippets).to.have.length.above(3);
    for (const snippet of snippets) expect(source.includes(bare(snippet)), snippet).to.equal(true);
  });

  it('shows how to run controllers on a server with a fake clock', async () => {
    const clock = new FakeClock();
    const server = await startTestServer({ clock, models: [Person, Badge], controllers: [personController] });

    await server.client.create(Person, { metadata: { name: 'ada' }, spec: { name: 'Ada' } });
    await server.settle();
    expect((await server.client.get(Badge, 'ada')).spec?.text).to.equal('Ada');

    await clock.advance(600_000);
    await server.settle();
    await server.stop();
  });

  it('shows how to inject faults', async () => {
    const server = await startTestServer({ models: [Person, Badge] });
    const clock = new FakeClock();
    const faulty = createFaultyClient(server.client, { clock });
    const kit = createTestKit({ client: faulty.client, controllers: [personController], clock });

    faulty.inject({ kind: 'loseAnswer' }, ({ verb, kind }) => verb === 'create' && kind === 'Badge');
    await server.client.create(Person, { metadata: { name: 'ada' }, spec: { name: 'Ada' } });
    await eventually(() => faulty.requests.some(({ fault }) => fault === 'loseAnswer'));
    await clock.advance(1000); // the back-off of the failed run
    await kit.settle();
    expect((await server.client.get(Badge, 'ada')).spec?.text).to.equal('Ada');

    const writes = faulty.requests.filter(({ isWrite }) => isWrite);
    expect(writes.map(({ verb, kind, outcome }) => `${verb} ${kind}: ${outcome}`)).to.deep.equal([
      'create Badge: ServiceUnavailable',
    ]);
    await kit.stop();
    await server.stop();
  });

  it('shows how to hold back the events of a cache', async () => {
    const server = await startTestServer({ models: [Person, Badge] });
    const faulty = createFaultyClient(server.client);
    const kit = createTestKit({ client: faulty.client, controllers: [personController] });
    await server.client.create(Person, { metadata: { name: 'ada' }, spec: { name: 'Ada' } });
    await kit.settle();
    const letGo = faulty.holdEvents(({ kind }) => kind === 'Person');
    await server.client.delete(Person, 'ada'); // until letGo(), the controller's cache keeps ada
    letGo();
    await kit.settle();
    expect((await server.client.list(Badge)).items).to.deep.equal([]);
    await kit.stop();
    await server.stop();
  });

  it('shows how to lose the responses of a server over HTTP', async () => {
    const server = await startTestServer({ models: [Person, Badge] });
    const faulty = createFaultInjectingFetch();
    const client = createClient(server.url, { fetch: faulty.fetch });
    faulty.inject({ kind: 'loseAnswer' }, ({ method }) => method === 'POST');
    const lost: unknown = await client
      .create(Person, { metadata: { name: 'ada' }, spec: { name: 'Ada' } })
      .catch((error: unknown) => error);
    expect(lost).to.be.instanceOf(Error);
    expect((await client.get(Person, 'ada')).spec.name).to.equal('Ada');
    await server.stop();
  });

  it('shows how to simulate an external system', async () => {
    const clock = new FakeClock();
    const doors = createExternalSystem({
      name: 'doors',
      clock,
      initialState: () => ({ cards: new Map<string, string>() }),
      operations: {
        open({ state }, name: string) {
          state.cards.set(name, 'open');
          return `card of ${name}`;
        },
      },
    });

    doors.inject({ kind: 'loseAnswer' }, ({ operation }) => operation === 'open');
    const lost: unknown = await doors.operations.open('ada').catch((error: unknown) => error);
    expect((lost as Error).message).to.equal('doors: open has lost its response (injected)');
    expect(doors.state().cards.get('ada')).to.equal('open');

    expect(await doors.calledBy({ reconcileID: 'run-1' }).open('ada')).to.equal('card of ada');
    expect(doors.calls.map(({ outcome, reconcileID }) => [outcome, reconcileID])).to.deep.equal([
      ['error', undefined],
      ['ok', 'run-1'],
    ]);
  });

  it('shows how to check that controllers have no work left', async () => {
    const clock = new FakeClock();
    const server = await startTestServer({ clock, models: [Person, Badge] });
    await server.client.create(Person, { metadata: { name: 'ada' }, spec: { name: 'Ada' } });
    const kit = createTestKit({ server, controllers: [personController], clock });
    await kit.expectConverged();
    expect((await server.client.get(Badge, 'ada')).spec?.text).to.equal('Ada');
    await kit.stop();
    await server.stop();
  });

  it('shows how to check that a controller converges [slow]', async () => {
    await checkConvergence({
      controllers: [personController],
      async scenario({ client, settle }) {
        await client.create(Person, { metadata: { name: 'ada' }, spec: { name: 'Ada' } });
        await client.create(Person, { metadata: { name: 'bob' }, spec: { name: 'Bob' } });
        await settle();
        await client.patch(Person, 'ada', { type: 'merge', patch: { spec: { name: 'Ada L.' } } });
        await client.patch(Person, 'ada', { type: 'merge', patch: { spec: { name: 'Ada Lovelace' } } });
        await client.delete(Person, 'bob');
      },
      invariants: {
        'a badge has a text': async (client: Client) => {
          const { items } = await client.list(Badge);
          for (const { spec } of items) expect(spec?.text).to.be.a('string');
        },
      },
      seeds: 30,
    });
  });

  describe('shows how to follow each write', () => {
    const clock = new FakeClock();
    let server: TestServer;

    before(async () => {
      server = await startTestServer({ models: [Person, Badge] });
      await server.client.create(Person, { metadata: { name: 'ada' }, spec: { name: 'Ada' } });
    });

    after(() => server.stop());

    it('by step(), which executes one write per call', async () => {
      const kit = createTestKit({ server, controllers: [personController], clock, stepped: true });
      const step = await kit.step();
      expect(step?.request).to.include({ verb: 'create', kind: 'Badge', name: 'ada' });
      expect(step?.run.controller).to.equal('person');
      expect(step?.run.reasons).to.deep.equal(['event ADDED']);
      expect(step?.after).to.have.nested.property('spec.text', 'Ada');
      await kit.stop();
    });

    it('by invariants, which are checked after each write', async () => {
      const invariants = {
        'a badge has a text': async (store: Client) => {
          for (const { spec } of (await store.list(Badge)).items) expect(spec?.text).not.to.equal('');
        },
      };
      const kit = createTestKit({ server, controllers: [personController], clock, invariants });
      await kit.settle();
      await kit.stop();
    });
  });

  it('shows how to plan changes [slow]', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-guide-'));
    const file = join(folder, 'export.ndjson');
    const server = await startTestServer({ models: [Person, Badge] });
    await server.client.create(Person, { metadata: { name: 'ada' }, spec: { name: 'Ada' } });
    await writeFile(file, await (await fetch(`${server.url}/export`)).text());
    await server.stop();

    const plan = await planChanges({
      // A plugin may also be given by the path of its compiled folder.
      plugins: [{ models: [Person, Badge], controllers: [personController] }],
      from: file, // The file that homeostat export wrote.
      fetch: async () => Response.json({ state: 'running' }),
    });
    expect(plan.failures).to.deep.equal([]);
    expect(plan.unsettled).to.equal(undefined);
    expect(plan.changes.map(({ action, kind, name }) => `${action} ${kind} ${name}`)).to.deep.equal([
      'create Badge ada',
    ]);
    await rm(folder, { recursive: true });
  });

  it('shows the exact message of a failed convergence check [slow]', async () => {
    const failure: unknown = await checkConvergence({
      models: [Badge],
      controllers: [waitsToBeTold],
      async scenario({ client, settle }) {
        await client.create(Person, { metadata: { name: 'bob' }, spec: { name: 'Bob' } });
        await settle();
        await client.delete(Person, 'bob');
      },
    }).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(Error);
    const shown = /```text\n([\s\S]+?)```/.exec(await readFile(guide, 'utf8'))?.[1];
    expect((failure as Error).message).to.equal(shown?.trim());
  });
});
