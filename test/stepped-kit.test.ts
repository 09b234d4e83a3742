import { expect } from 'chai';
import { controller } from 'homeostat';
import type { Client } from 'homeostat';
import { createTestKit, FakeClock, silentLogger, startTestServer } from 'homeostat/testing';
import type { TestKit, TestServer } from 'homeostat/testing';
import { Badge, Person } from './support/models/staff.ts';

/**
 * A controller that makes a badge with the text `new` in one write, and sets the text to the name of the person in a
 * second write.
 */
const careful = controller(Person, {
  owns: [Badge],
  async reconcile({ object, ensure, client }) {
    const { name } = object.metadata;
    await ensure(Badge, name, { spec: { text: 'new' } });
    await client.ensure(Badge, name, { spec: { text: object.spec.name } });
  },
});

const hasText = async (client: Client): Promise<void> => {
  for (const { spec } of (await client.list(Badge)).items) expect(spec?.text).not.to.equal('');
};

describe('a test kit', () => {
  let server: TestServer;
  let kit: TestKit | undefined;

  beforeEach(async () => {
    server = await startTestServer({ models: [Person, Badge] });
    await server.client.create(Person, { metadata: { name: 'ada' }, spec: { name: 'Ada' } });
  });

  afterEach(async () => {
    await kit?.stop();
    await server.stop();
  });

  const textOf = async (name: string): Promise<string | undefined> =>
    (await server.client.get(Badge, name).catch(() => undefined))?.spec?.text;

  it('executes one write at each step(), which returns the run that made the write and the fields that it changed', async () => {
    kit = createTestKit({ server, controllers: [careful], clock: new FakeClock(), stepped: true });
    const first = await kit.step();
    expect(await textOf('ada')).to.equal('new');
    expect(first?.request).to.include({ verb: 'create', kind: 'Badge', name: 'ada' });
    expect(first?.run).to.deep.include({ controller: 'person', key: { name: 'ada' } });
    expect(first?.run.reasons.join()).to.match(/^event/);
    expect(first?.before).to.equal(undefined);
    const second = await kit.step();
    expect(second?.run.reconcileID).to.equal(first?.run.reconcileID);
    expect(second?.changes).to.deep.equal([{ path: 'spec.text', from: 'new', to: 'Ada' }]);
    expect(await textOf('ada')).to.equal('Ada');
  });

  it('returns undefined from step() when no work is left; settle() executes all remaining writes', async () => {
    const gives = controller(Person, {
      reconcile: async ({ object, ensure }) =>
        void (await ensure(Badge, object.metadata.name, { spec: { text: object.spec.name } })),
    });
    kit = createTestKit({ server, controllers: [gives], clock: new FakeClock(), stepped: true });
    expect((await kit.step())?.after?.kind).to.equal('Badge');
    expect(await kit.step()).to.equal(undefined);
    await server.client.create(Person, { metadata: { name: 'bob' }, spec: { name: 'Bob' } });
    await kit.settle();
    expect(await textOf('bob')).to.equal('Bob');
    expect(await kit.step()).to.equal(undefined);
  });

  it('returns from step() the error of a failed write', async () => {
    const wrong = controller(Person, {
      reconcile: ({ client }) => client.delete(Badge, 'nobody').then(() => undefined),
    });
    kit = createTestKit({
      server,
      controllers: [wrong],
      clock: new FakeClock(),
      logger: silentLogger,
      stepped: true,
    });
    expect(String((await kit.step())?.error)).to.include('"nobody" not found');
  });

  it('names the first write that breaks an invariant, with its run and its changes', async () => {
    const clears = controller(Person, {
      async reconcile({ object, client }) {
        const { name } = object.metadata;
        await client.ensure(Badge, name, { spec: { text: 'new' } });
        await client.ensure(Badge, name, { spec: { text: '' } });
        await client.ensure(Badge, name, { spec: { text: object.spec.name } });
      },
    });
    const invariants = { 'a badge has a text': hasText };
    kit = createTestKit({ server, controllers: [clears], clock: new FakeClock(), invariants });
    const error = await kit.settle().catch((thrown: unknown) => thrown as Error);
    expect(await textOf('ada')).to.equal('Ada');
    expect(String(error?.message)).to.match(
      /^the invariant "a badge has a text" was broken by \w+ Badge ada, in the run [-0-9a-f]{36} of person "ada" \(event.*\)\n {2}spec\.text: "new" -> ""\n {2}expected '' to not equal ''/,
    );
  });

  it('reports that no run broke the invariant when the patch of a client, outside of all runs, broke it', async () => {
    const invariants = { 'a badge has a text': hasText };
    kit = createTestKit({ server, controllers: [careful], clock: new FakeClock(), stepped: true, invariants });
    await kit.step();
    await server.client.patch(Badge, 'ada', { type: 'merge', patch: { spec: { text: '' } } });
    const error = await kit.step().catch((thrown: unknown) => thrown as Error);
    expect(error).to.be.instanceOf(Error);
    expect((error as Error).message).to.match(
      /^the invariant "a badge has a text" was broken before \w+ Badge ada; no run of these controllers broke the invariant\n/,
    );
  });

  it('refuses step() without the option `stepped`', async () => {
    kit = createTestKit({ server, controllers: [careful], clock: new FakeClock() });
    const error = await kit.step().catch((thrown: unknown) => thrown as Error);
    expect((error as Error).message).to.equal('step() needs createTestKit({ stepped: true })');
  });
});
