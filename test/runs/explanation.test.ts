import { controller } from '@homeostat/controller-runtime';
import {
  conditionsSchema,
  controllerModel,
  defineModel,
  pausedAnnotation,
  runModel,
  silentLogger,
} from '@homeostat/controller-runtime/api';
import type { Explanation } from '@homeostat/controller-runtime/api';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { eventually, startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';

const Person = defineModel({
  gvk: 'people.example.com/v1alpha1/Person',
  plural: 'persons',
  subresources: ['status'],
  schema: {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { mood: { type: 'string' } } },
      status: { type: 'object', properties: { conditions: conditionsSchema, observedGeneration: { type: 'integer' } } },
    },
    required: ['spec'],
  } as const,
});

const persons = controller(Person, {
  retryLimit: 2,
  async reconcile({ object, condition, status }) {
    if (object.spec.mood === 'bad') throw new Error('in a bad mood');
    const isReady = object.spec.mood === 'good';
    condition('Ready', isReady ? 'True' : 'False', { reason: isReady ? 'Fine' : 'Moody', message: 'as it is' });
    await status({});
  },
  cleanup({ object }) {
    if (object.spec.mood === 'clinging') throw new Error('it does not let go');
  },
});

describe('the explanation of an object', () => {
  const clock = new FakeClock();
  let server: TestServer;

  before(async () => {
    const parts = { models: [Person], controllers: [persons], logger: silentLogger };
    server = await startTestServer({ ...parts, clock, reportRuns: true, token: 'administrators-token' });
  });

  after(() => server.stop());

  const path = (name: string): string => `/apis/people.example.com/v1alpha1/persons/${name}`;

  async function get(at: string, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const all = { authorization: 'Bearer administrators-token', ...headers };
    return (await fetch(`${server.url}${at}`, { headers: all })).json();
  }

  async function explain(name: string, headers?: Readonly<Record<string, string>>): Promise<Explanation> {
    return (await get(`${path(name)}/explanation`, headers)) as Explanation;
  }

  /** Advances the clock until the explanation has the given state, because timers write the reports. */
  async function explained(name: string, state: Explanation['state']): Promise<Explanation> {
    let found: Explanation | undefined;
    await eventually(async () => {
      await clock.advance(1000);
      await server.settle();
      found = await explain(name);
      return found.state === state && found.controllers.every(({ lastRun }) => lastRun !== undefined);
    });
    return found as Explanation;
  }

  async function create(name: string, mood: string): Promise<void> {
    await server.client.create(Person, { metadata: { name }, spec: { mood } });
  }

  it('names the newest run of an object, even if the object has more records than an explanation reads', async () => {
    await server.client.create(Person, { metadata: { name: 'busy' }, spec: { mood: 'good' } });
    await explained('busy', 'Ready');
    const { metadata: busy } = await server.client.get(Person, 'busy');
    const [first] = (await server.client.list(runModel, { fieldSelector: `object.uid=${busy.uid}` })).items;
    if (first === undefined) throw new Error('no run was recorded');
    const { metadata, ...run } = first;
    for (let number = 100; number < 310; number += 1) {
      const startTime = new Date(clock.now() + number).toISOString();
      const { namespace } = metadata;
      await server.client.create(runModel, { ...run, metadata: { name: `run-${number}`, namespace }, startTime });
    }
    const [{ lastRun } = {}] = (await explain('busy')).controllers;
    expect(lastRun?.name).to.equal('run-309');
  });

  it('reports that an object is ready, or the reason why it is not', async () => {
    await create('ada', 'good');
    await create('bea', 'odd');
    expect((await explained('ada', 'Ready')).summary).to.equal('Person ada is ready.');
    const { summary, details, observedGeneration } = await explained('bea', 'NotReady');
    expect(summary).to.equal('Person bea is not ready: Ready is False, Moody, as it is.');
    expect(details.join('\n')).to.match(
      /The last run of test\/person began \d+s ago, because of .*, and ended with success\./,
    );
    expect(observedGeneration).to.equal(1);
  });

  it('names the controller that fails or has given up, with its error and attempts', async () => {
    await create('bob', 'bad');
    const { summary } = await explained('bob', 'Failing');
    expect(summary).to.match(
      /^test\/person fails to reconcile Person bob for \d+s \(3 attempts\): in a bad mood; next attempt: when the object changes\.$/,
    );
  });

  it('names the finalizer that blocks a deletion, the controller that should remove it, and the error of this controller', async () => {
    await create('eve', 'clinging');
    await explained('eve', 'NotReady');
    await server.client.delete(Person, 'eve');
    let held = await explained('eve', 'Deleting');
    await eventually(async () => {
      await clock.advance(1000);
      held = await explain('eve');
      return held.finalizers[0]?.message.includes('does not let go') === true;
    });
    expect(held.summary).to.match(/^Person eve was deleted \d+s ago, and a finalizer keeps the object\.$/);
    expect(held.finalizers[0]).to.include({ name: 'people.example.com/person', controller: 'test/person' });
  });

  it('reports that an object is paused', async () => {
    await create('fay', 'good');
    await explained('fay', 'Ready');
    const annotations = { [pausedAnnotation]: 'person' };
    await server.client.patch(Person, 'fay', { type: 'merge', patch: { metadata: { annotations } } });
    const { summary } = await explained('fay', 'Paused');
    expect(summary).to.equal('Person fay is paused: test/person does not reconcile it.');
  });

  it('leaves out information that the user may not read', async () => {
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'reader' } };
    const rules = [{ apiGroups: ['people.example.com'], resources: ['persons'], verbs: ['get'] }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' };
    const subjects = [{ kind: 'User', name: 'rita', apiGroup: 'rbac.authorization.k8s.io' }];
    for (const [plural, body] of [
      ['clusterroles', { ...role, rules }],
      ['clusterrolebindings', { ...role, kind: 'ClusterRoleBinding', roleRef, subjects }],
    ] as const) {
      await fetch(`${server.url}/apis/rbac.authorization.k8s.io/v1/${plural}`, {
        method: 'POST',
        headers: { authorization: 'Bearer administrators-token', 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    }
    const { controllers, summary, details, finalizers } = await explain('bob', { 'Impersonate-User': 'rita' });
    expect(summary).to.equal('Person bob has no condition Ready.');
    expect(controllers).to.deep.equal([]);
    expect(details).to.deep.equal([
      'You may not read controllers, so their queues are not explained.',
      'You may not read runs, so they are not explained.',
    ]);
    expect(finalizers[0]).not.to.have.property('controller');
  });

  it('is complemented by a list of stuck objects at /debug/stuck', async () => {
    // The controller does not reconcile the change, because fay is paused.
    await server.client.patch(Person, 'fay', { type: 'merge', patch: { spec: { mood: 'odd' } } });
    await clock.advance(61_000);
    const { items } = (await get('/debug/stuck')) as {
      readonly items: readonly {
        readonly object: { readonly name: string };
        readonly problem: string;
        readonly message: string;
      }[];
    };
    expect(items.map(({ object, problem }) => `${object.name} ${problem}`)).to.have.members([
      'bob Parked',
      'eve Deleting',
      'fay Behind',
    ]);
    expect(items.find(({ problem }) => problem === 'Behind')?.message).to.equal(
      'the status describes generation 1; the spec has generation 2',
    );
    expect(items.find(({ problem }) => problem === 'Deleting')?.message).to.contain('it does not let go');
  });

  it('is complemented by a list of stuck objects: an object with a parked key and a failing key is Parked, and problems without a time come last', async () => {
    const failingSince = new Date(clock.now() - 3_600_000).toISOString();
    const report = async (number: number, states: Readonly<Record<string, 'parked' | 'delayed'>>): Promise<void> => {
      const since = number === 3 ? { attempts: 0 } : { attempts: 3, failingSince };
      const keys = Object.entries(states).map(([key, state]) => ({ key, state, ...since }));
      const queue = { ready: 0, processing: 0, delayed: 0, parked: 0, paused: 0, failing: 2 };
      const { group, version, kind } = Person;
      const created = await server.client.create(controllerModel, {
        metadata: { name: `test.other-${number}` },
        spec: {
          controller: `test/other-${number}`,
          reconciles: { apiVersion: `${group}/${version}`, kind },
          concurrency: 1,
        },
      });
      const reportTime = new Date(clock.now()).toISOString();
      const status = { reportTime, running: true, queue, keys, runs: {}, rates: { runs: 0, errors: 0 } };
      await server.client.updateStatus(created, status);
    };
    await report(1, { gil: 'parked', hal: 'delayed' });
    await report(2, { gil: 'delayed', hal: 'parked' });
    // A terminal error parks a key, but does not increase `attempts`, so this report has no `failingSince`.
    await report(3, { ivy: 'parked' });
    const { items } = (await get('/debug/stuck')) as {
      readonly items: readonly { readonly object: { readonly name: string }; readonly problem: string }[];
    };
    const found = items.map(({ object, problem }) => `${object.name} ${problem}`);
    expect(found.filter((each) => /^(?:gil|hal)/.test(each))).to.have.members(['gil Parked', 'hal Parked']);
    expect(found.at(-1)).to.equal('ivy Parked');
  });
});
