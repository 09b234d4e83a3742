import { setImmediate as nextTurn } from 'node:timers/promises';
import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { controller, createClient, createManager } from '@homeostat/controller-runtime';
import type { Client, ReconcileContext, ReconcileResult } from '@homeostat/controller-runtime';
import { defineModel } from '@homeostat/controller-runtime/api';
import type { ApiObject, Model, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

interface Counter extends ApiObject {
  readonly spec: { readonly noise: number };
  readonly status?: { readonly seen?: number };
}

const gvk = 'counters.example.com/v1alpha1/Counter';
const spec = { type: 'object', properties: { noise: { type: 'integer' } } } as const;
const status = { type: 'object', properties: { seen: { type: 'integer' } } } as const;
const counter = defineModel({
  gvk,
  plural: 'counters',
  schema: { type: 'object', required: ['spec'], properties: { spec, status } },
}) as Model as ModelDescriptor<Counter>;

const names = Array.from({ length: 500 }, (_, index) => `c${index}`);

/** A controller whose runs increment a number in the status, and record each unexpected number. */
class Counting {
  readonly stale: string[] = [];
  readonly #runsOfEach: number;
  readonly #seen = new Map<string, number>();
  #writes = 0;

  constructor(runsOfEach: number) {
    this.#runsOfEach = runsOfEach;
  }

  get isOver(): boolean {
    return this.writes === names.length * this.#runsOfEach;
  }

  get writes(): number {
    return this.#writes;
  }

  async reconcile(context: ReconcileContext<Counter>): Promise<ReconcileResult> {
    const { object, name } = context;
    const seen = this.#seen.get(name) ?? 0;
    this.#compare(`cache of ${name}`, seen, object.status?.seen);
    if (seen === this.#runsOfEach) return undefined;
    // Reads that send a request are slow, so only some runs make them, spread over all keys and rounds.
    if ((seen + name.length) % 7 === 0) await this.#read(context, seen);
    const written = await context.status({ seen: seen + 1 });
    this.#compare(`answer of ${name}`, seen + 1, written.status?.seen);
    this.#seen.set(name, seen + 1);
    this.#writes += 1;
    return { after: 0 };
  }

  async #read({ client, name }: ReconcileContext<Counter>, seen: number): Promise<void> {
    this.#compare(`get of ${name}`, seen, (await client.get(counter, name)).status?.seen);
    const { items } = await client.list(counter, { fieldSelector: `metadata.name=${name}` });
    this.#compare(`list of ${name}`, seen, items[0]?.status?.seen);
  }

  #compare(where: string, wanted: number, found = 0): void {
    if (wanted !== found) this.stale.push(`${where}: ${found}, not ${wanted}`);
  }
}

describe('A controller that has written a status', () => {
  let server: ApiServer;

  beforeEach(async () => {
    server = await startApiServer({ database: 'memory:', port: 0 });
    server.schemeManager.register(counter);
    await server.whenReady(counter);
  });

  afterEach(() => server.stop());

  /**
   * Runs the controller until it has written the status of each object `runsOfEach` times, while another client
   * continuously changes the same objects.
   */
  async function count(client: Client, runsOfEach: number): Promise<Counting> {
    const counting = new Counting(runsOfEach);
    const reconcile = (context: ReconcileContext<Counter>): Promise<ReconcileResult> => counting.reconcile(context);
    const manager = createManager({ client, controllers: [controller(counter, { concurrency: 64, reconcile })] });
    await Promise.all(names.map((name) => server.client.create(counter, { metadata: { name }, spec: { noise: 0 } })));
    const stop = new AbortController();
    const stopped = manager.run(stop.signal);
    const changing = changeAll(counting);
    await eventually(() => counting.isOver, { timeoutMs: 60_000 });
    stop.abort();
    await Promise.all([stopped, changing]);
    return counting;
  }

  /** Changes the objects as another client: one change for every eight writes of the controller. */
  async function changeAll(counting: Counting): Promise<void> {
    for (let noise = 1; !counting.isOver; noise += 1) {
      const name = names[(noise * 7) % names.length] as string;
      await server.client.patch(counter, name, { type: 'merge', patch: { spec: { noise } } });
      while (!counting.isOver && counting.writes < noise * 8) await nextTurn();
    }
  }

  for (const [runs, tier] of [
    [1, ''],
    [20, ' [slow]'],
  ] as const) {
    it(`reads the status that it wrote last, in each of ${runs * 500} runs with an in-process client${tier}`, async () => {
      expect((await count(server.client, runs)).stale).to.deep.equal([]);
    });
  }

  it('reads the status that it wrote last, in each of 2,000 runs with an HTTP client [slow]', async () => {
    expect((await count(createClient(server.url), 4)).stale).to.deep.equal([]);
  });
});
