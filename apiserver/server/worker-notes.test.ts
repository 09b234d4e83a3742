import { defineModel, IndexSpec } from '@homeostat/controller-runtime/api';
import type { ApiObject, IndexAttribute, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { TestOwner } from '../store/owner/owner.test-support.ts';
import { startOn } from './api-server.ts';
import type { ApiServer } from './api-server.ts';

interface Thing extends ApiObject {
  readonly spec: { readonly tag: string };
}

const plain = defineModel({
  gvk: 'things.example.com/v1/Thing',
  plural: 'things',
  schema: { type: 'object', properties: { spec: { type: 'object', properties: { tag: { type: 'string' } } } } },
}) as unknown as ModelDescriptor<Thing>;

/** A server that runs as a worker. Its index function records the names of the objects for which it is called. */
class Worker {
  computed: string[] = [];
  readonly #server: ApiServer;

  private constructor(server: ApiServer) {
    this.#server = server;
  }

  static async start(
    owner: TestOwner,
    { definition, suffix = '' }: { readonly definition?: string; readonly suffix?: string },
  ): Promise<Worker> {
    const worker = new Worker(await startOn(owner.store(), { port: 0 }));
    const indexFunc: IndexAttribute<Thing> = {
      multiValued: false,
      valuesOf: ({ metadata, spec }) => {
        worker.computed.push(metadata.name);
        return [spec.tag + suffix];
      },
      ...(definition !== undefined && { definition }),
    };
    const model = { ...plain, indexes: [new IndexSpec<Thing>({ name: 'spec.tag', indexFunc })] };
    worker.#server.schemeManager.register(model);
    await worker.#server.whenReady(model);
    return worker;
  }

  get client(): ApiServer['client'] {
    return this.#server.client;
  }

  async namesWith(tag: string): Promise<readonly string[]> {
    const { items } = await this.client.list(plain, { fieldSelector: `spec.tag=${tag}` });
    return items.map(({ metadata }) => metadata.name);
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }
}

describe('a change by another worker of the same database', () => {
  let owner: TestOwner;
  const workers: Worker[] = [];

  beforeEach(async () => {
    owner = await TestOwner.start();
  });
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop()));
    await owner.close();
  });

  async function start(...indexes: Parameters<typeof Worker.start>[1][]): Promise<[Worker, Worker]> {
    for (const index of indexes) workers.push(await Worker.start(owner, index));
    return workers as [Worker, Worker];
  }

  async function changeThings({ client }: Worker): Promise<void> {
    for (const name of ['a', 'b', 'c']) await client.create(plain, { metadata: { name }, spec: { tag: 'one' } });
    await client.update({ ...(await client.get(plain, 'b')), spec: { tag: 'two' } });
    await client.delete(plain, 'c');
  }

  it('is applied with the index values that the writer has computed', async () => {
    const [writer, other] = await start({ definition: 'tag 1' }, { definition: 'tag 1' });
    await changeThings(writer);
    expect(await other.namesWith('one')).to.deep.equal(['a']);
    expect(await other.namesWith('two')).to.deep.equal(['b']);
    expect(other.computed).to.deep.equal([]);
    expect(await other.client.get(plain, 'b')).to.deep.equal(await writer.client.get(plain, 'b'));
  });

  it('is applied with index values that this worker computes, if the two workers define the index differently', async () => {
    const [writer, other] = await start({ definition: 'tag 1' }, { definition: 'tag 2', suffix: '-2' });
    await changeThings(writer);
    expect(await other.namesWith('one-2')).to.deep.equal(['a']);
    expect(await other.namesWith('two-2')).to.deep.equal(['b']);
    expect(await writer.namesWith('two')).to.deep.equal(['b']);
  });

  it('is applied with index values that this worker computes, if the index is a function without a `definition`', async () => {
    const [writer, other] = await start({}, { suffix: '-2' });
    await changeThings(writer);
    expect(await other.namesWith('one-2')).to.deep.equal(['a']);
  });
});
