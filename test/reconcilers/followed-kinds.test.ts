import { controller, generationChanged, labelsChanged, on, or, owned, wish } from 'homeostat';
import type { Client, ControllerOptions, FromModel, MappedKeys, ReconcileContext } from 'homeostat';
import { createTestKit, eventually, FakeClock, startTestServer } from 'homeostat/testing';
import { expect } from 'chai';
import { runControllers, transports } from './both-clients.ts';
import type { Running, Transport } from './both-clients.ts';
import { Team, Worker } from './models.ts';

type TeamObject = FromModel<typeof Team>;
type WorkerObject = FromModel<typeof Worker>;
type TeamRun = ReconcileContext<TeamObject>;

const team = 'work.example.com/team';

for (const transport of transports) {
  describe(`the kinds that a controller follows, ${transport}`, () => {
    it('enqueue keys for selected objects only', async () => {
      const mapped: string[] = [];
      const map = ({ metadata }: WorkerObject): MappedKeys => {
        mapped.push(metadata.name);
        return ['red'];
      };
      const at = await runTeam(transport, {
        watches: [on(Worker, map, { labelSelector: `${team}=red` })],
        reconcile: () => {},
      });
      await at.client.create(Worker, { metadata: { name: 'blue', labels: { [team]: 'blue' } }, spec: { task: 'dig' } });
      await at.client.create(Worker, { metadata: { name: 'red', labels: { [team]: 'red' } }, spec: { task: 'dig' } });
      await at.settle();
      expect(mapped).to.deep.equal(['red']);
      await at.stop();
    });

    it('do not let a run take over an object that the selector hides from its cache', async () => {
      const messages: string[] = [];
      const at = await runTeam(transport, {
        owns: [owned(Worker, { labelSelector: `${team}=red` })],
        async reconcile({ own }: TeamRun) {
          const made = { metadata: { name: 'free', labels: { [team]: 'red' } }, spec: { task: 'dig' } };
          await own([wish(Worker, made)]).catch((error: unknown) => messages.push((error as Error).message));
        },
        before: (client) => client.create(Worker, { metadata: { name: 'free' }, spec: { task: 'rest' } }),
      });
      expect(messages[0]).to.match(/^own: Worker "free" exists, and Team "red" does not control it/);
      expect((await at.client.get(Worker, 'free')).spec.task).to.equal('rest');
      await at.client.delete(Worker, 'free');
      await at.client.patch(Team, 'red', { type: 'merge', patch: { spec: { size: 2 } } });
      await at.settle();
      expect((await at.client.get(Worker, 'free')).spec.task).to.equal('dig');
      await at.stop();
    });

    it('enqueue keys for each addition and deletion, and for updates that all predicates accept', async () => {
      const mapped: string[] = [];
      const map = ({ spec, status }: WorkerObject): MappedKeys => {
        mapped.push(`${spec.task} ${String(status?.busy)}`);
        return [];
      };
      const at = await runTeam(transport, {
        watches: [on(Worker, map, { predicates: [or(generationChanged, labelsChanged)] })],
        reconcile: () => {},
      });
      await at.client.create(Worker, { metadata: { name: 'w' }, spec: { task: 'dig' } });
      await at.settle();
      await setBusy(at, 'w');
      await at.client.patch(Worker, 'w', { type: 'merge', patch: { spec: { task: 'rest' } } });
      await at.settle();
      await at.client.delete(Worker, 'w');
      await at.settle();
      expect(mapped).to.deep.equal(['dig undefined', 'dig true', 'rest true', 'rest true']);
      await at.stop();
    });

    it('pass only metadata to a mapping with metadataOnly, and transformed objects to a mapping with transform', async () => {
      const mapped: object[] = [];
      const map = (object: WorkerObject): MappedKeys => {
        mapped.push({ kind: object.kind, spec: object.spec as unknown, busy: object.status?.busy });
        return [];
      };
      const at = await runTeam(transport, {
        watches: [
          on(Worker, map, { metadataOnly: true }),
          on(Worker, map, { transform: ({ status: _status, ...kept }) => kept as WorkerObject }),
        ],
        reconcile: () => {},
      });
      await at.client.create(Worker, { metadata: { name: 'w' }, spec: { task: 'dig' } });
      await at.settle();
      await setBusy(at, 'w');
      expect(mapped).to.deep.include({ kind: 'PartialObjectMetadata', spec: undefined, busy: undefined });
      expect(mapped).to.deep.include({ kind: 'Worker', spec: { task: 'dig' }, busy: undefined });
      expect(mapped).not.to.deep.include({ kind: 'Worker', spec: { task: 'dig' }, busy: true });
      await at.stop();
    });

    it('cause runs whose reason has the kind and name of the changed object, also with metadataOnly', async () => {
      const reasons = new Set<string>();
      const at = await runTeam(transport, {
        watches: [on(Worker, () => ['red'], { metadataOnly: true })],
        reconcile: ({ reasons: ofRun }: TeamRun) => ofRun.forEach(({ detail = '' }) => reasons.add(detail)),
      });
      await at.client.create(Worker, { metadata: { name: 'w' }, spec: { task: 'dig' } });
      await at.settle();
      expect([...reasons]).to.include('Worker w');
      await at.stop();
    });

    const quiet = { ignoreOwnWrites: true };
    const toRed = (): MappedKeys => ['red'];
    for (const [sources, options] of [
      ['an owned kind', { owns: [owned(Worker, quiet)] }],
      ['two sources of one kind', { owns: [owned(Worker, quiet)], watches: [on(Worker, toRed, quiet)] }],
      ['a source with metadataOnly', { watches: [on(Worker, toRed, { ...quiet, metadataOnly: true })] }],
    ] as const) {
      it(`with ignoreOwnWrites, enqueue keys for updates of other clients only: ${sources}`, async () => {
        let runs = 0;
        const at = await runTeam(transport, {
          ...options,
          async reconcile({ object, ensure }: TeamRun) {
            runs += 1;
            await ensure(Worker, 'w', { spec: { task: `size ${object.spec.size}` } });
          },
        });
        const afterCreation = runs;
        await at.client.patch(Team, 'red', { type: 'merge', patch: { spec: { size: 2 } } });
        await at.settle();
        expect(runs).to.equal(afterCreation + 1);
        await setBusy(at, 'w');
        expect(runs).to.be.greaterThan(afterCreation + 1);
        await at.stop();
      });
    }

    it('enqueue keys with the priority that the mapping returns', async () => {
      const order: string[] = [];
      let letGo = (): void => {};
      const blocked = new Promise<void>((resolve) => (letGo = resolve));
      const at = await runTeam(transport, {
        concurrency: 1,
        watches: [on(Worker, ({ spec }) => [{ key: spec.task, priority: spec.task === 'urgent' ? 10 : -10 }])],
        async reconcile({ name }: TeamRun) {
          order.push(name);
          if (name === 'block') await blocked;
        },
      });
      order.length = 0;
      await at.client.create(Team, { metadata: { name: 'block' }, spec: { size: 1 } });
      await eventually(() => order.includes('block'));
      for (const task of ['later', 'urgent']) {
        await at.client.create(Team, { metadata: { name: task }, spec: { size: 1 } });
        await at.client.create(Worker, { metadata: { name: task }, spec: { task } });
      }
      await eventually(() => at.reasonsOf('urgent').includes('mapping'));
      letGo();
      await at.settle();
      expect(order.slice(0, 2)).to.deep.equal(['block', 'urgent']);
      await at.stop();
    });
  });
}

describe('the kinds that a controller follows', () => {
  it('grow by addWatch while the controller runs, and shrink when the returned handle is removed', async () => {
    const runs: string[] = [];
    const clock = new FakeClock();
    const server = await startTestServer({ clock, models: [Team, Worker] });
    const teams = controller(Team, {
      reconcile: ({ reasons }) => void runs.push(reasons.map(({ type }) => type).join()),
    });
    const kit = createTestKit({ server, controllers: [teams], clock });
    await server.client.create(Team, { metadata: { name: 'red' }, spec: { size: 1 } });
    await server.client.create(Worker, { metadata: { name: 'before' }, spec: { task: 'dig' } });
    await kit.settle();
    const handle = kit.manager.addWatch(
      'team',
      on(Worker, () => ['red'], { fieldSelector: 'spec.task=dig' }),
    );
    await eventually(() => handle.hasSynced());
    await kit.settle();
    expect(runs).to.deep.equal(['event', 'mapping']);
    await server.client.create(Worker, { metadata: { name: 'after' }, spec: { task: 'dig' } });
    await kit.settle();
    expect(runs).to.have.length(3);
    handle.remove();
    await server.client.create(Worker, { metadata: { name: 'late' }, spec: { task: 'dig' } });
    await kit.settle();
    expect(runs).to.have.length(3);
    expect(() =>
      kit.manager.addWatch(
        'teem',
        on(Worker, () => []),
      ),
    ).to.throw('there is no controller "teem"');
    await kit.stop();
    await server.stop();
  });

  it('with ignoreOwnWrites, enqueue no key for own updates, even if addWatch added the kind', async () => {
    let runs = 0;
    const clock = new FakeClock();
    const server = await startTestServer({ clock, models: [Team, Worker] });
    const teams = controller(Team, {
      async reconcile({ object, ensure }) {
        runs += 1;
        await ensure(Worker, 'w', { spec: { task: `size ${object.spec.size}` } });
      },
    });
    const kit = createTestKit({ server, controllers: [teams], clock });
    await server.client.create(Team, { metadata: { name: 'red' }, spec: { size: 1 } });
    await kit.settle();
    const handle = kit.manager.addWatch(
      'team',
      on(Worker, () => ['red'], { ignoreOwnWrites: true }),
    );
    await eventually(() => handle.hasSynced());
    await kit.settle();
    const before = runs;
    await server.client.patch(Team, 'red', { type: 'merge', patch: { spec: { size: 2 } } });
    await kit.settle();
    expect((await server.client.get(Worker, 'w')).spec.task).to.equal('size 2');
    expect(runs).to.equal(before + 1);
    await kit.stop();
    await server.stop();
  });

  it('are refused with unknown options, invalid selectors, and unknown indexes', () => {
    const map = (): MappedKeys => [];
    const given = (options: object) => (): unknown => on(Worker, map, options);
    expect(given({ labelSelektor: 'a=b' })).to.throw(
      'the options for Worker have an unknown key "labelSelektor". Did you mean "labelSelector"?',
    );
    expect(given({ labelSelector: 'a in (b' })).to.throw('options for Worker: ');
    expect(given({ fieldSelector: 'spec.task in dig' })).to.throw('options for Worker: ');
    expect(given({ indexes: ['spec.taks'] })).to.throw(
      'Worker declares no index "spec.taks": did you mean "spec.task"?',
    );
    expect(given({ predicates: [1] })).to.throw('options for Worker: predicates[0] is not a function');
    expect(() => controller(Team, { indexes: ['spec.x'], reconcile: () => {} })).to.throw(
      'Team declares no index "spec.x"',
    );
  });

  it('make the function `children` of a run throw when the cache of the kind has only metadata', async () => {
    let message: string | undefined;
    const at = await runTeam('in process', {
      owns: [owned(Worker, { metadataOnly: true })],
      reconcile({ children }: TeamRun) {
        try {
          children(Worker);
        } catch (error) {
          ({ message } = error as Error);
        }
      },
    });
    await at.stop();
    expect(message).to.equal(
      'controller "team" caches only parts of Worker objects, because it follows them with "metadataOnly" or "transform"',
    );
  });
});

/** Creates a team of size 1, and runs a controller of teams until it has no work. */
async function runTeam(
  transport: Transport,
  { before, ...options }: ControllerOptions<TeamObject> & { readonly before?: (client: Client) => Promise<unknown> },
): Promise<Running> {
  const at = await runControllers(transport, {
    models: [Team, Worker],
    controllers: [controller(Team, options)],
    async before(client) {
      await before?.(client);
      await client.create(Team, { metadata: { name: 'red' }, spec: { size: 1 } });
    },
  });
  await at.settle();
  return at;
}

async function setBusy(at: Running, name: string): Promise<void> {
  await at.client.patch(Worker, name, { type: 'merge', patch: { status: { busy: true } } }, { subresource: 'status' });
  await at.settle();
}
