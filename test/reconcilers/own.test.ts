import { conditionsSchema, controller, defineModel, wish } from 'homeostat';
import type { ApiObject, FromModel, OwnResult, ReconcileContext, Wish } from 'homeostat';
import { checkConvergence } from 'homeostat/testing';
import { expect } from 'chai';
import { runControllers, transports } from './both-clients.ts';
import type { Running, Transport } from './both-clients.ts';
import { Note, Team, Worker } from './models.ts';

type TeamRun = ReconcileContext<FromModel<typeof Team>>;

/** A kind with a keyed list, a set, and a default. */
const Desk = defineModel({
  gvk: 'work.example.com/v1/Desk',
  plural: 'desks',
  schema: {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {
          height: { type: 'integer', default: 72 },
          colour: { type: 'string' },
          drawers: {
            type: 'array',
            items: {
              type: 'object',
              properties: { name: { type: 'string' }, lock: { type: 'boolean' } },
              required: ['name'],
            },
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['name'],
          },
          tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
        },
      },
      status: { type: 'object', properties: { observedGeneration: { type: 'integer' }, conditions: conditionsSchema } },
    },
  } as const,
});

const models = [Team, Worker, Desk];

/**
 * Returns wishes for as many workers as the size of the team, and for a desk that is created after the first worker.
 */
function wishesOf({ object, now }: TeamRun): readonly Wish[] {
  const { name } = object.metadata;
  const workers = Array.from({ length: object.spec.size }, (_, index) =>
    wish(Worker, {
      metadata: { name: `${name}-${index}`, labels: { 'work.example.com/team': name } },
      spec: { task: 'dig' },
    }),
  );
  const desk = wish(
    Desk,
    {
      metadata: { name },
      spec: { colour: 'red', drawers: [{ name: 'a' }, { name: 'b', lock: true }], tags: ['new', now.slice(0, 4)] },
    },
    { id: 'desk', after: workers.slice(0, 1).map(({ id }) => id) },
  );
  return [...workers, desk];
}

for (const transport of transports) {
  describe(`the dependents that a run owns, ${transport}`, () => {
    it('are created when they are wished, and deleted when no longer wished; other objects of the owner stay', async () => {
      const at = await runTeam(transport, async (run) => void (await run.own(wishesOf(run))));
      expect(await namesOf(at)).to.deep.equal(['red-0', 'red-1']);
      const { metadata } = await at.client.get(Team, 'red');
      const owner = {
        apiVersion: 'work.example.com/v1',
        kind: 'Team',
        name: 'red',
        uid: metadata.uid,
        controller: true,
      };
      await at.client.create(Worker, { metadata: { name: 'guest', ownerReferences: [owner] }, spec: { task: 'look' } });
      await resize(at, 1);
      expect(await namesOf(at)).to.deep.equal(['guest', 'red-0']);
      await resize(at, 2);
      expect(await namesOf(at)).to.deep.equal(['guest', 'red-0', 'red-1']);
      await at.stop();
    });

    it('cause no request when a later run has the same wishes, even after a restart or a change of a dependent’s status', async () => {
      const results: OwnResult[] = [];
      const reconcile = async (run: TeamRun): Promise<void> => void results.push(await run.own(wishesOf(run)));
      const at = await runTeam(transport, reconcile);
      const requests = at.requestsOfRuns();
      await at.client.patch(Team, 'red', { type: 'merge', patch: { metadata: { labels: { again: 'yes' } } } });
      await at.client.patch(
        Worker,
        'red-0',
        { type: 'merge', patch: { status: { busy: true } } },
        { subresource: 'status' },
      );
      const runs = results.length;
      await at.settle();
      expect(results.length).to.be.above(runs);
      await at.restart();
      await at.settle();
      expect(at.requestsOfRuns()).to.equal(requests);
      expect(results.at(-1)?.states.map(({ state }) => state)).to.deep.equal(['unchanged', 'unchanged', 'unchanged']);
      await at.stop();
    });

    it('get their wished values back after other clients change them, and keep fields that only other clients set', async () => {
      const at = await runTeam(transport, async (run) => void (await run.own(wishesOf(run))));
      await at.client.patch(Desk, 'red', { type: 'merge', patch: { spec: { colour: 'blue', height: 80 } } });
      await at.settle();
      expect((await at.client.get(Desk, 'red')).spec).to.include({ colour: 'red', height: 80 });
      await at.client.patch(Worker, 'red-0', {
        type: 'merge',
        patch: { metadata: { labels: { 'work.example.com/team': null, 'example.com/own': 'x' } } },
      });
      await at.settle();
      expect((await at.client.get(Worker, 'red-0')).metadata.labels).to.deep.equal({
        'work.example.com/team': 'red',
        'example.com/own': 'x',
      });
      await at.stop();
    });

    it('lose a field when it is no longer in the wish', async () => {
      const at = await runTeam(transport, async ({ object, own }) => {
        const colour = object.spec.size > 2 ? {} : { colour: 'red' };
        await own([wish(Desk, { metadata: { name: 'red' }, spec: { ...colour, height: 70 } })]);
      });
      expect((await at.client.get(Desk, 'red')).spec).to.deep.equal({ colour: 'red', height: 70 });
      await resize(at, 3);
      expect((await at.client.get(Desk, 'red')).spec).to.deep.equal({ height: 70 });
      await at.stop();
    });

    it('are created when the dependents in their `after` are ready; until then, `waitsFor` in their state names the dependents that are not ready', async () => {
      let last: OwnResult | undefined;
      const at = await runTeam(transport, async ({ own }) => {
        const worker = wish(
          Worker,
          { metadata: { name: 'first' }, spec: { task: 'dig' } },
          { id: 'first', ready: ({ status }) => status?.busy === true },
        );
        last = await own([wish(Desk, { metadata: { name: 'red' } }, { after: ['first'] }), worker]);
      });
      expect(last?.ready).to.equal(false);
      expect(last?.states[0]).to.deep.equal({ id: 'Desk/red', state: 'waiting', ready: false, waitsFor: ['first'] });
      await at.client.patch(
        Worker,
        'first',
        { type: 'merge', patch: { status: { busy: true } } },
        { subresource: 'status' },
      );
      await at.settle();
      expect(last?.ready).to.equal(true);
      expect(await at.client.get(Desk, 'red')).to.be.an('object');
      await at.stop();
    });

    it('are ready when they have no condition Ready, and otherwise only while this condition is True', async () => {
      const ready: boolean[] = [];
      const at = await runTeam(transport, async ({ own }) => {
        ready.push((await own([wish(Desk, { metadata: { name: 'red' } })])).ready);
      });
      const condition = { type: 'Ready', reason: 'Why', message: '', lastTransitionTime: '2030-01-01T00:00:00Z' };
      for (const status of ['False', 'True']) {
        const patch = { status: { conditions: [{ ...condition, status }] } };
        await at.client.patch(Desk, 'red', { type: 'merge', patch }, { subresource: 'status' });
        await at.settle();
      }
      // Each change of the desk causes one run.
      expect(ready.slice(-3)).to.deep.equal([true, false, true]);
      await at.stop();
    });

    it('are not ready while the observedGeneration of their condition Ready is older than their generation', async () => {
      const ready: boolean[] = [];
      const at = await runTeam(transport, async ({ object, own }) => {
        const height = 70 + object.spec.size;
        ready.push((await own([wish(Desk, { metadata: { name: 'red' }, spec: { height } })])).ready);
      });
      const condition = { type: 'Ready', status: 'True', reason: 'Why', message: '' };
      const observe = async (observedGeneration: number): Promise<void> => {
        const conditions = [{ ...condition, observedGeneration, lastTransitionTime: '2030-01-01T00:00:00Z' }];
        await at.client.patch(
          Desk,
          'red',
          { type: 'merge', patch: { status: { conditions } } },
          { subresource: 'status' },
        );
        await at.settle();
      };
      await observe(1);
      expect(ready.at(-1)).to.equal(true);
      await resize(at, 3);
      expect(ready.at(-1)).to.equal(false);
      await observe(2);
      expect(ready.at(-1)).to.equal(true);
      await at.stop();
    });

    it('are not ready until the condition that the wish names is True', async () => {
      const ready: boolean[] = [];
      const at = await runTeam(transport, async ({ own }) => {
        ready.push((await own([wish(Desk, { metadata: { name: 'red' } }, { ready: 'Delivered' })])).ready);
      });
      expect(ready.at(-1)).to.equal(false);
      const condition = { reason: 'Why', message: '', lastTransitionTime: '2030-01-01T00:00:00Z', status: 'True' };
      for (const [type, expected] of [
        ['Ready', false],
        ['Delivered', true],
      ] as const) {
        const patch = { status: { conditions: [{ ...condition, type }] } };
        await at.client.patch(Desk, 'red', { type: 'merge', patch }, { subresource: 'status' });
        await at.settle();
        expect(ready.at(-1)).to.equal(expected);
      }
      await at.stop();
    });

    it('are not ready with an old observedGeneration, or a condition Reconciling=True, Stalled=True or Ready=Unknown', async () => {
      const ready: boolean[] = [];
      const at = await runTeam(transport, async ({ own }) => {
        ready.push((await own([wish(Desk, { metadata: { name: 'red' } })])).ready);
      });
      const condition = { status: 'True', reason: 'Why', message: '', lastTransitionTime: '2030-01-01T00:00:00Z' };
      for (const [status, expected] of [
        [{ observedGeneration: 0 }, false],
        [{ observedGeneration: 1 }, true],
        [{ conditions: [{ ...condition, type: 'Reconciling' }] }, false],
        [{ conditions: [{ ...condition, type: 'Stalled' }] }, false],
        [{ conditions: [{ ...condition, type: 'Stalled', status: 'False' }] }, true],
        [{ conditions: [{ ...condition, type: 'Ready', status: 'Unknown' }] }, false],
        [{ conditions: [] }, true],
      ] as const) {
        await at.client.patch(Desk, 'red', { type: 'merge', patch: { status } }, { subresource: 'status' });
        await at.settle();
        expect(ready.at(-1), JSON.stringify(status)).to.equal(expected);
      }
      await at.stop();
    });

    it('are deleted after the dependents that name them in `after`, also after a restart of the controller', async () => {
      const results: OwnResult[] = [];
      const desk = wish(Desk, { metadata: { name: 'red' } }, { id: 'desk' });
      const worker = (name: string, after: readonly string[]) =>
        wish(Worker, { metadata: { name }, spec: { task: 'dig' } }, { id: name, after });
      const at = await runTeam(transport, async ({ object, own }) => {
        const chain = [desk, worker('a', ['desk']), worker('b', ['a']), worker('c', ['a'])];
        results.push(await own(object.spec.size === 2 ? chain : chain.slice(0, object.spec.size)));
      });
      expect(results.at(-1)).to.deep.include({ ready: true, pruned: [], leaving: [] });
      const hold = (finalizers: readonly string[]) =>
        at.client.patch(Worker, 'b', { type: 'merge', patch: { metadata: { finalizers } } });
      await hold(['example.com/hold']);
      await at.settle();
      const names = (objects: readonly ApiObject[]) => objects.map(({ metadata }) => metadata.name).toSorted();
      await resize(at, 0);
      expect(names(results.at(-1)?.leaving ?? [])).to.deep.equal(['a', 'b', 'red']);
      expect(await namesOf(at)).to.deep.equal(['a', 'b']);
      await at.restart();
      await at.settle();
      expect(await namesOf(at)).to.deep.equal(['a', 'b']);
      results.splice(0);
      await hold([]);
      await at.settle();
      expect(results.flatMap(({ pruned }) => names(pruned))).to.deep.equal(['a', 'red']);
      expect(results.at(-1)?.leaving).to.deep.equal([]);
      expect([await namesOf(at), (await at.client.list(Desk)).items]).to.deep.equal([[], []]);
      await at.stop();
    });

    it('are kept while another dependent, which is being deleted, names them in its `created-after` annotation', async () => {
      const results: OwnResult[] = [];
      const at = await runTeam(transport, async ({ object, own }) => {
        const [desk, late] = [{ id: 'desk' }, { after: object.spec.size === 2 ? ['desk'] : [] }];
        const wishes = [
          wish(Desk, { metadata: { name: 'red' } }, desk),
          wish(Worker, { metadata: { name: 'late' }, spec: { task: 'dig' } }, late),
        ];
        results.push(await own(wishes.slice(object.spec.size === 2 ? 0 : 1)));
      });
      const held = ['example.com/hold'];
      await at.client.patch(Worker, 'late', { type: 'merge', patch: { metadata: { finalizers: held } } });
      await at.client.delete(Worker, 'late');
      await resize(at, 1);
      // The worker is being deleted, so its `created-after` annotation is no longer updated and still names the desk.
      // The desk therefore waits in `leaving` until the worker is gone.
      expect(results.at(-1)?.leaving.map(({ kind }) => kind)).to.deep.equal(['Desk']);
      await at.client.patch(Worker, 'late', { type: 'merge', patch: { metadata: { finalizers: [] } } });
      await at.settle();
      expect(results.at(-1)?.leaving).to.deep.equal([]);
      expect([await namesOf(at), (await at.client.list(Desk)).items]).to.deep.equal([['late'], []]);
      await at.stop();
    });

    it('are kept while one of them was created after them and must wait for a wished dependent', async () => {
      const results: OwnResult[] = [];
      const worker = (name: string, after: readonly string[]) =>
        wish(Worker, { metadata: { name }, spec: { task: 'dig' } }, { id: name, after });
      const at = await runTeam(transport, async ({ object, own }) => {
        const desk = wish(Desk, { metadata: { name: 'red' } }, { id: 'desk' });
        const isFirst = object.spec.size !== 7;
        const late = worker('late', isFirst ? ['a'] : []);
        results.push(await own(isFirst ? [desk, worker('a', ['desk']), late] : [late]));
      });
      const hold = (finalizers: readonly string[]) =>
        at.client.patch(Worker, 'late', { type: 'merge', patch: { metadata: { finalizers } } });
      await hold(['example.com/hold']);
      await at.client.delete(Worker, 'late');
      await resize(at, 7);
      // While `late` is being deleted, its annotation still names `a`, and that of `a` names the desk.
      expect(results.at(-1)?.pruned).to.deep.equal([]);
      expect(results.at(-1)?.leaving.map(({ kind }) => kind)).to.have.members(['Desk', 'Worker']);
      await hold([]);
      await at.settle();
      expect([await namesOf(at), (await at.client.list(Desk)).items]).to.deep.equal([['late'], []]);
      await at.stop();
    });

    it('are deleted even if users have edited their `created-after` annotations so that they wait for each other', async () => {
      const desk = wish(Desk, { metadata: { name: 'red' } }, { id: 'desk' });
      const worker = (name: string, after: string) =>
        wish(Worker, { metadata: { name }, spec: { task: 'dig' } }, { id: name, after: [after] });
      let isIdle = false;
      const at = await runTeam(transport, async ({ object, own }) => {
        const chain = [desk, worker('kept', 'desk'), worker('a', 'desk'), worker('b', 'a')];
        if (!isIdle) await own(object.spec.size === 7 ? chain.slice(0, 2) : chain);
      });
      isIdle = true;
      const { annotations = {} } = (await at.client.get(Worker, 'b')).metadata;
      const [annotation = ''] = Object.keys(annotations).filter((key) => key.includes('created-after'));
      const afterB = annotations[annotation]?.replace('/a', '/b') ?? '';
      const patch = { metadata: { annotations: { [annotation]: afterB } } };
      await at.client.patch(Worker, 'a', { type: 'merge', patch });
      await at.settle();
      isIdle = false;
      await resize(at, 7);
      expect(await namesOf(at)).to.deep.equal(['kept']);
      await at.stop();
    });

    it('have the same states in a dry run as without it, even those that wait for another dependent to be ready or to be deleted', async () => {
      const names = (objects: readonly ApiObject[]) => objects.map(({ metadata }) => metadata.name).toSorted();
      const shown = ({ ready, states, pruned, leaving }: OwnResult) => ({
        ready,
        states: states.map(({ id, state, waitsFor = [] }) => [id, state, ...waitsFor]),
        pruned: names(pruned),
        leaving: names(leaving),
      });
      const results: OwnResult[] = [];
      const worker = (name: string, after: string) =>
        wish(Worker, { metadata: { name }, spec: { task: 'dig' } }, { id: name, after: [after] });
      const at = await runTeam(transport, async ({ object, own }) => {
        const isLast = object.spec.size === 7;
        const desk = wish(Desk, { metadata: { name: 'red' } }, { id: 'desk', ready: () => !isLast });
        const chain = [desk, worker('late', 'desk'), worker('a', 'desk'), worker('b', 'a')];
        if (!isLast) return void (await own(chain));
        for (const dryRun of [true, false]) results.push(await own(chain.slice(0, 2), { dryRun }));
      });
      const finalizers = ['example.com/hold'];
      await at.client.patch(Worker, 'b', { type: 'merge', patch: { metadata: { finalizers } } });
      await at.settle();
      await resize(at, 7);
      const [dry, real] = results.slice(0, 2).map(shown);
      expect(real).to.deep.equal({
        ready: false,
        states: [
          ['desk', 'unchanged'],
          ['late', 'waiting', 'desk'],
        ],
        pruned: ['b'],
        leaving: ['a', 'b'],
      });
      expect(dry).to.deep.equal(real);
      await at.client.patch(Worker, 'b', { type: 'merge', patch: { metadata: { finalizers: [] } } });
      await at.settle();
      await at.stop();
    });

    it('are not written by a dry run, which returns the changes that it would make', async () => {
      let dry: OwnResult | undefined;
      const at = await runTeam(transport, async (run) => {
        if (run.object.spec.size < 3) return void (await run.own(wishesOf(run)));
        const [first, , desk] = wishesOf(run);
        const added = wish(Worker, { metadata: { name: 'new' }, spec: { task: 'rest' } });
        const changed = wish(Worker, { metadata: { name: 'red-0' }, spec: { task: 'rest' } });
        dry = await run.own([changed, added, desk ?? first ?? changed].slice(0, 2), { dryRun: true });
      });
      const before = await at.client.list(Worker);
      await resize(at, 3);
      expect(await at.client.list(Worker)).to.have.deep.property('items', before.items);
      const [changed, added] = dry?.states ?? [];
      expect(changed).to.deep.include({ id: 'Worker/red-0', state: 'updated' });
      expect(changed?.changes).to.deep.equal([
        { path: 'metadata.labels', from: { 'work.example.com/team': 'red' } },
        { path: 'spec.task', from: 'dig', to: 'rest' },
      ]);
      expect(added).to.deep.include({ id: 'Worker/new', state: 'created' });
      expect(dry?.pruned.map(({ metadata }) => metadata.name)).to.have.members(['red', 'red-1']);
      await at.stop();
    });
  });
}

describe('the dependents that a run owns', () => {
  it('are adopted with the option `adopt`, unless another object controls them', async () => {
    const errors: string[] = [];
    const adopt = { value: false };
    const at = await runTeam(
      'in process',
      async ({ own, name }) => {
        try {
          await own([wish(Worker, { metadata: { name: 'free' }, spec: { task: 'dig' } }, { adopt: adopt.value })]);
        } catch (error) {
          errors.push(`${name}: ${(error as Error).message}`);
        }
      },
      async (client) => {
        await client.create(Worker, { metadata: { name: 'free' }, spec: { task: 'rest' } });
      },
    );
    expect(errors).to.deep.equal([
      'red: own: Worker "free" exists, and Team "red" does not control it: delete it, or set the option "adopt" of the wish to take it over',
    ]);
    adopt.value = true;
    await resize(at, 1);
    expect((await at.client.get(Worker, 'free')).spec.task).to.equal('dig');
    await at.client.create(Team, { metadata: { name: 'blue' }, spec: { size: 1 } });
    await at.settle();
    expect(errors.at(-1)).to.equal('blue: own: Worker "free" is controlled by Team "red"');
    await at.stop();
  });

  it('are refused when the wishes contradict each other, with an error that names the mistake', async () => {
    const messages: string[] = [];
    const worker = (name: string, options: object = {}): Wish =>
      wish(Worker, { metadata: { name }, spec: { task: '' } }, options);
    const lists: readonly (readonly Wish[])[] = [
      [worker('a'), worker('b', { id: 'Worker/a', after: ['c'] })],
      [worker('a'), worker('a', { id: 'other' })],
      [worker('red-0'), worker('red-1'), worker('red-0', { id: 'other' })],
      [wish(Note, { metadata: { name: 'a' } })],
      [worker('a', { after: ['Worker/c'] }), worker('b')],
      [worker('a', { after: ['Worker/b'] }), worker('b', { after: ['Worker/a'] })],
    ];
    const at = await runTeam('in process', async ({ own }) => {
      for (const wishes of lists) {
        await own(wishes, { dryRun: true }).catch((error: unknown) => messages.push((error as Error).message));
      }
      await own([]);
      await own([]).catch((error: unknown) => messages.push((error as Error).message));
    });
    await at.stop();
    expect(messages).to.deep.equal([
      'own: two wishes have the id "Worker/a"; give one of them another "id"',
      'own: Worker "a" is wished twice',
      'own: Worker "red-0" is wished twice',
      'own: the controller does not own Note: add Note to its "owns"',
      'own: wish Worker/a comes after "Worker/c", but no wish has this id: did you mean "Worker/a"?',
      'own: these wishes wait for each other: Worker/a, Worker/b',
      'own() was called twice in a run: pass all wishes in one list',
    ]);
    expect(() => wish(Worker, { metadata: { name: '' }, spec: { task: '' } })).to.throw(
      'wish(Worker): metadata.name is missing',
    );
    expect(() => worker('a', { afer: [] })).to.throw('wish Worker/a: unknown key "afer". Did you mean "after"?');
  });

  it('reach the same final state as without faults, whichever request of the controller fails [slow]', async () => {
    await checkConvergence({
      models,
      controllers: () => [teams(async (run) => void (await run.own(wishesOf(run))))],
      async scenario({ client, settle }) {
        await client.create(Team, { metadata: { name: 'red' }, spec: { size: 2 } });
        await settle();
        await client.patch(Team, 'red', { type: 'merge', patch: { spec: { size: 1 } } });
        await client.patch(Team, 'red', { type: 'merge', patch: { spec: { size: 3 } } });
        await settle();
        await client.patch(Worker, 'red-1', { type: 'merge', patch: { spec: { task: 'sleep' } } });
        await client.patch(Team, 'red', { type: 'merge', patch: { spec: { size: 2 } } });
      },
      seeds: 3,
    });
  });
});

function teams(reconcile: (run: TeamRun) => Promise<void>): ReturnType<typeof controller<FromModel<typeof Team>>> {
  return controller(Team, { owns: [Worker, Desk], reconcile });
}

/** Creates a team of size 2, and runs a controller of teams until it has no work. */
async function runTeam(
  transport: Transport,
  reconcile: (run: TeamRun) => Promise<void>,
  before: (client: Running['client']) => Promise<void> = async () => {},
): Promise<Running> {
  const at = await runControllers(transport, {
    models,
    controllers: [teams(reconcile)],
    before: async (client) => {
      await before(client);
      await client.create(Team, { metadata: { name: 'red' }, spec: { size: 2 } });
    },
  });
  await at.settle();
  return at;
}

async function resize(at: Running, size: number): Promise<void> {
  await at.client.patch(Team, 'red', { type: 'merge', patch: { spec: { size } } });
  await at.settle();
}

async function namesOf(at: Running): Promise<readonly string[]> {
  const { items } = await at.client.list(Worker);
  return items.map(({ metadata }) => metadata.name).toSorted();
}
