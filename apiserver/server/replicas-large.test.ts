import { defineModel, IndexSpec, simpleAttribute } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { CompactedError } from '../store/store.ts';
import { oneStepPerTurn } from '../turns/one-step-per-turn.test-support.ts';
import { startOn } from './api-server.ts';
import type { ApiServerOptions } from './api-server-options.ts';
import type { ApiServer } from './api-server.ts';
import { SharedDatabase } from './shared-database.fixture.ts';
import type { ReplicaStore } from './shared-database.fixture.ts';

const objects = 3000;

interface Person extends ApiObject {
  readonly spec: { readonly email: string; readonly age: number };
}

/** Returns a kind with a unique index. The function of the index calls `onCall`. */
function personModel(onCall: () => void = () => undefined): ModelDescriptor<Person> {
  const base = defineModel({
    gvk: 'people.example.com/v1/Person',
    plural: 'persons',
    schema: {
      type: 'object',
      properties: {
        spec: { type: 'object', properties: { email: { type: 'string' }, age: { type: 'integer' } } },
      },
    },
  }) as unknown as ModelDescriptor<Person>;
  const indexFunc = simpleAttribute(base, ({ spec }) => {
    onCall();
    return spec.email;
  });
  return { ...base, indexes: [new IndexSpec({ name: 'email', unique: true, indexFunc })] };
}

const Person = personModel();

/** The number of objects in the test without `[slow]`. A replica needs several turns to read their changes. */
const fewer = 1000;

describe('a replica that has missed changes of a large kind', () => {
  oneStepPerTurn();

  let database: SharedDatabase;
  const running: ApiServer[] = [];

  async function start(
    model: ModelDescriptor<Person>,
    options: ApiServerOptions = {},
  ): Promise<{ readonly server: ApiServer; readonly store: ReplicaStore }> {
    const store = database.replica();
    const server = await startOn(store, { port: 0, ...options });
    running.push(server);
    server.schemeManager.register(model);
    await server.whenReady(model);
    return { server, store };
  }

  beforeEach(() => {
    database = new SharedDatabase();
  });

  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.stop()));
    await database.close();
  });

  const inBatches = async (count: number, work: (at: number) => Promise<unknown>): Promise<void> => {
    for (let from = 0; from < count; from += 500)
      await Promise.all(Array.from({ length: Math.min(500, count - from) }, (_, at) => work(from + at)));
  };

  it('reads the kind again once the changes are compacted, and reports the differences, at most 200 objects in each turn [slow]', async () => {
    const a = await start(Person, { retention: { minAgeMs: 0, minChanges: 5, maxBytes: 2_000 } });
    await inBatches(objects, (at) =>
      a.server.client.create(Person, { metadata: { name: `p${at}` }, spec: { email: `${at}`, age: 1 } }),
    );
    let calls = 0;
    const b = await start(personModel(() => (calls += 1)));
    expect((await b.server.client.list(Person, { labelSelector: '!app', limit: 1 })).total).to.equal(objects);
    const updated = new Set<string>();
    const informer = b.server.client.informer(Person);
    informer.addHandler({ onUpdate: (_, { metadata }) => void updated.add(metadata.name) });
    const abort = new AbortController();
    const run = informer.run(abort.signal);
    await eventually(() => informer.hasSynced());
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    b.store.beforeChanges = () => held;

    await inBatches(objects, (at) =>
      a.server.client.patch(Person, `p${at}`, { type: 'merge', patch: { spec: { age: 2 } } }),
    );
    await eventually(async () => {
      const error = await a.store.changes(objects, 1).catch((reason: unknown) => reason);
      return error instanceof CompactedError;
    });

    calls = 0;
    let [most, callsBefore, turns, isOver] = [0, 0, 0, false];
    const lookAtTurn = (): void => {
      turns += calls === callsBefore && calls >= objects ? 1 : 0;
      most = Math.max(most, calls - callsBefore);
      callsBefore = calls;
      if (!isOver) setImmediate(lookAtTurn);
    };
    lookAtTurn();
    release();
    const { items } = await b.server.client.list(Person, { fieldSelector: 'metadata.name=p7' });
    isOver = true;
    expect(items[0]?.spec.age).to.equal(2);
    expect(calls).to.be.within(objects, objects + 1000);
    expect(most).to.be.at.most(200);
    expect(turns, 'turns of the event loop in which the new state is computed').to.be.above(40);
    await eventually(() => updated.size === objects);
    abort.abort();
    await run;
  });

  it('applies the changes of other replicas, at most 200 in each turn of the event loop', async () => {
    const a = await start(Person);
    await inBatches(fewer, (at) =>
      a.server.client.create(Person, { metadata: { name: `p${at}` }, spec: { email: `${at}`, age: 1 } }),
    );
    let calls = 0;
    const b = await start(personModel(() => (calls += 1)));
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    b.store.beforeChanges = () => held;
    await inBatches(fewer, (at) =>
      a.server.client.patch(Person, `p${at}`, { type: 'merge', patch: { spec: { age: 2 } } }),
    );
    calls = 0;
    let [most, callsBefore, isOver] = [0, 0, false];
    const lookAtTurn = (): void => {
      most = Math.max(most, calls - callsBefore);
      callsBefore = calls;
      if (!isOver) setImmediate(lookAtTurn);
    };
    lookAtTurn();
    release();
    const { items } = await b.server.client.list(Person, { fieldSelector: `metadata.name=p${fewer - 1}` });
    isOver = true;
    expect(items[0]?.spec.age).to.equal(2);
    expect(calls).to.be.at.least(fewer);
    expect(most).to.be.at.most(200);
  });
});
