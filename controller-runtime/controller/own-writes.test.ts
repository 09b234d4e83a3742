import { expect } from 'chai';
import { controller, type ControllerOptions } from './definition/controller-definition.ts';
import { Badge, eachHarness, Harness, Person } from './harness.test-support.ts';
import { generationChanged } from './definition/predicates.ts';

describe('the writes of a controller', () => {
  const harnessFor = eachHarness();

  for (const answerTurns of [0, 8]) {
    const order = answerTurns === 0 ? 'after' : 'before';

    it(`a write of the status causes no run when its event arrives ${order} the response`, async () => {
      let runs = 0;
      const at = harnessFor({
        async reconcile({ object, status }) {
          runs += 1;
          await status({ greeting: `Hello ${object.spec.name}` });
        },
      });
      at.client.answerTurns = answerTurns;
      await at.person('ada');
      await at.start();
      expect(runs).to.equal(1);
      expect(at.client.writes).to.deep.equal(['patch persons/ada/status']);
      expect(at.client.peek(Person, 'ada')?.status).to.deep.equal({ greeting: 'Hello ada', observedGeneration: 1 });
    });

    it(`updateStatus, and a write of the finalizer, cause no run when the events arrive ${order} the response`, async () => {
      let runs = 0;
      const at = harnessFor({
        async reconcile({ object, client }) {
          runs += 1;
          await client.updateStatus(object, { greeting: 'hi' });
        },
        cleanup() {},
      });
      at.client.answerTurns = answerTurns;
      await at.person('ada');
      await at.start();
      expect(runs).to.equal(1);
    });

    it(`a run follows when another client changes the status during a write of the controller (events ${order} the response)`, async () => {
      let runs = 0;
      const at = harnessFor({
        async reconcile({ status }) {
          runs += 1;
          await status({ greeting: 'hi' });
        },
      });
      at.client.answerTurns = answerTurns;
      at.client.intercept = async (line) => {
        if (line !== 'patch persons/ada/status') return;
        at.client.intercept = () => {};
        await at.change(Person, 'ada', { status: { seen: 1 } });
      };
      await at.person('ada');
      await at.start();
      expect(runs).to.be.greaterThan(1);
      expect(at.client.peek(Person, 'ada')?.status).to.include({ greeting: 'hi', seen: 1 });
    });
  }

  it('a second run follows when another client writes the same status and one more field just before the first run writes its status', async () => {
    const seen: (number | undefined)[] = [];
    const at = harnessFor({
      async reconcile({ object, status }) {
        seen.push(object.status?.seen);
        await status({ greeting: 'hi' });
      },
    });
    at.client.answerTurns = 8;
    await at.person('ada');
    at.client.intercept = async (line) => {
      if (line !== 'patch persons/ada/status') return;
      at.client.intercept = () => {};
      // After this change, the patch of the run changes nothing.
      await at.change(Person, 'ada', { status: { greeting: 'hi', observedGeneration: 1, seen: 1 } });
    };
    await at.start();
    expect(seen).to.deep.equal([undefined, 1]);
  });

  it('a change of spec, labels, annotations or finalizers causes a run, and so does a status that another client wrote', async () => {
    let runs = 0;
    const at = harnessFor({ reconcile: () => void (runs += 1) });
    await at.person('ada');
    await at.start();
    const patches = [
      { spec: { name: 'b' } },
      { metadata: { labels: { a: 'b' } } },
      { metadata: { annotations: { a: 'b' } } },
      { metadata: { finalizers: ['example.com/other'] } },
      { status: { greeting: 'by another' } },
    ];
    for (const [index, patch] of patches.entries()) {
      await at.change(Person, 'ada', patch);
      await at.idle();
      expect(runs, JSON.stringify(patch)).to.equal(index + 2);
    }
    await at.change(Person, 'ada', { metadata: { ownerReferences: [] } });
    await at.idle();
    expect(runs).to.equal(6);
  });

  it('predicates decide which updates of an object cause a run, but its deletion always causes one', async () => {
    const runs: string[] = [];
    const at = harnessFor({
      predicates: [generationChanged, ({ object }) => object.spec.name !== 'ignored'],
      reconcile: ({ object }) => void runs.push(object.spec.name),
      cleanup: () => void runs.push('cleanup'),
    });
    await at.person('ada');
    await at.start();
    await at.change(Person, 'ada', { metadata: { labels: { a: 'b' } } });
    await at.change(Person, 'ada', { spec: { name: 'ignored' } });
    await at.delete(Person, 'ada');
    await at.idle();
    expect(runs).to.deep.equal(['ada', 'cleanup']);
  });

  it('a write is visible in the next run, even if the cache does not have it yet', async () => {
    const seen: (string | undefined)[] = [];
    const at = harnessFor({
      async reconcile({ object, status }) {
        seen.push(object.status?.greeting);
        if (seen.length > 1) return;
        at.client.informer(Person).hold();
        await status({ greeting: 'mine' });
        return { after: '1s' };
      },
    });
    await at.person('ada');
    at.startOnly();
    await at.holds(() => at.manager.queue('person').some(({ state }) => state === 'delayed'));
    await at.clock.advance(1000);
    expect(at.client.informer(Person).get({ name: 'ada' })?.status).to.equal(undefined);
    expect(seen).to.deep.equal([undefined, 'mine']);
    at.client.informer(Person).release();
    await at.idle();
  });

  it('an object that the controller has deleted is not reconciled again, even if the cache still has the object', async () => {
    let runs = 0;
    const at = harnessFor({
      async reconcile({ object, client }) {
        runs += 1;
        at.client.informer(Person).hold();
        await client.delete(Person, object.metadata.name);
        return { after: '1s' };
      },
    });
    await at.person('ada');
    at.startOnly();
    await at.holds(() => at.manager.queue('person').some(({ state }) => state === 'delayed'));
    await at.clock.advance(1000);
    expect(runs).to.equal(1);
    at.client.informer(Person).release();
    await at.idle();
  });

  it('no write is sent when the status and the dependents already have the desired values', async () => {
    const at = harnessFor({
      owns: [Badge],
      async reconcile({ object, ensure, status }) {
        await ensure(Badge, object.metadata.name, { spec: { text: object.spec.name, colour: undefined } as never });
        await status({ greeting: 'hi', seen: undefined } as never);
      },
    });
    await at.person('ada');
    await at.start();
    at.client.requests.length = 0;
    at.client.informer(Person).resync();
    await at.idle();
    expect(at.client.requests).to.deep.equal([]);
  });

  it('a write of the status is refused as a conflict when the object was replaced by a new one of the same name', async () => {
    const uids: string[] = [];
    const written: unknown[] = [];
    const at = harnessFor({
      async reconcile({ object, status }) {
        uids.push(object.metadata.uid);
        if (uids.length === 1) {
          await at.delete(Person, 'ada');
          await at.person('ada', { name: 'Ada II' });
        }
        written.push((await status({ greeting: object.spec.name })).status?.greeting);
      },
    });
    await at.person('ada');
    await at.start();
    expect(uids.length).to.be.greaterThan(1);
    expect(uids.at(-1)).to.equal(at.client.peek(Person, 'ada')?.metadata.uid);
    expect(new Set(written)).to.deep.equal(new Set(['Ada II']));
    expect(at.client.peek(Person, 'ada')?.status?.greeting).to.equal('Ada II');
    expect(at.lines('error')).to.deep.equal([]);
  });
});

describe('ensure', () => {
  let harness: Harness | undefined;
  let text = 'one';

  const harnessFor = (owns: ControllerOptions<Person>['owns'] = [Badge]): Harness => {
    text = 'one';
    harness = new Harness({
      controllers: [
        controller(Person, {
          owns,
          reconcile: async ({ ensure }) => void (await ensure(Badge, 'badge', { spec: { text } })),
        }),
      ],
    });
    return harness;
  };

  afterEach(async () => {
    await harness?.stop();
    harness = undefined;
  });

  it('creates the dependent; its owner reference names the reconciled object and has `controller: true`', async () => {
    const at = harnessFor();
    const { metadata } = await at.person('ada');
    await at.start();
    expect(at.client.peek(Badge, 'badge')?.spec).to.deep.equal({ text: 'one' });
    expect(at.client.peek(Badge, 'badge')?.metadata.ownerReferences).to.deep.equal([
      {
        apiVersion: 'people.example.com/v1alpha1',
        kind: 'Person',
        name: 'ada',
        uid: metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
  });

  it('merges the desired fields into the existing dependent, makes the owner its controller, and keeps all other fields', async () => {
    const at = harnessFor();
    const other = { apiVersion: 'v1', kind: 'Other', name: 'x', uid: 'y' };
    await at.client.create<Badge>(Badge, {
      metadata: { name: 'badge', labels: { a: 'b' }, ownerReferences: [other] },
      spec: { text: 'zero', colour: 'red' },
    });
    await at.person('ada');
    await at.start();
    const badge = at.client.peek(Badge, 'badge');
    expect(badge?.spec).to.deep.equal({ text: 'one', colour: 'red' });
    expect(badge?.metadata.labels).to.deep.equal({ a: 'b' });
    expect(badge?.metadata.ownerReferences?.map(({ name }) => name)).to.deep.equal(['x', 'ada']);
  });

  it('restores a dependent that another client changed, and creates it again after another client deleted it', async () => {
    const at = harnessFor();
    await at.person('ada');
    await at.start();
    await at.change(Badge, 'badge', { spec: { text: 'vandalised' } });
    await at.idle();
    expect(at.client.peek(Badge, 'badge')?.spec.text).to.equal('one');
    await at.delete(Badge, 'badge');
    await at.idle();
    expect(at.client.peek(Badge, 'badge')?.spec.text).to.equal('one');
  });

  for (const owns of [[Badge], []]) {
    it(`writes the desired values, and keeps another client's change of other fields (reads from ${owns.length === 0 ? 'the server' : 'a cache that lags'})`, async () => {
      const at = harnessFor(owns);
      await at.person('ada');
      await at.start();
      at.client.informer(Badge).hold();
      await at.change(Badge, 'badge', { spec: { text: 'changed', colour: 'blue' } });
      text = 'two';
      await at.change(Person, 'ada', { spec: { name: 'again' } });
      await at.holds(() => at.client.peek<Badge>(Badge, 'badge')?.spec.text === 'two');
      at.client.informer(Badge).release();
      await at.idle();
      expect(at.client.peek(Badge, 'badge')?.spec).to.deep.equal({ text: 'two', colour: 'blue' });
      expect(at.lines('error')).to.deep.equal([]);
    });
  }

  it('keeps an owner that another client adds during the write', async () => {
    const at = harnessFor();
    await at.person('ada');
    await at.start();
    const [ada] = at.client.peek(Badge, 'badge')?.metadata.ownerReferences ?? [];
    at.client.intercept = async (line) => {
      if (line !== 'patch badges/badge') return;
      at.client.intercept = () => {};
      const other = { apiVersion: 'v1', kind: 'Other', name: 'x', uid: 'y' };
      await at.change(Badge, 'badge', { metadata: { ownerReferences: [ada, other] } });
    };
    text = 'two';
    await at.change(Person, 'ada', { spec: { name: 'again' } });
    await at.idle();
    const badge = at.client.peek(Badge, 'badge');
    expect(badge?.spec.text).to.equal('two');
    expect(badge?.metadata.ownerReferences?.map(({ name }) => name)).to.deep.equal(['ada', 'x']);
  });

  it('rejects when another object controls the dependent', async () => {
    const at = harnessFor();
    const other = { apiVersion: 'v1', kind: 'Other', name: 'x', uid: 'y', controller: true };
    await at.client.create(Badge, { metadata: { name: 'badge', ownerReferences: [other] }, spec: { text: '' } });
    await at.person('ada');
    await at.start();
    expect(String(at.lines('error')[0]?.fields['err'])).to.contain('already has the controller Other "x"');
    expect(at.client.peek(Badge, 'badge')?.spec.text).to.equal('');
  });
});
