import { expect } from 'chai';
import { on } from './definition/followed-kind.ts';
import { Badge, eachHarness, Person } from './harness.test-support.ts';

describe('a status that a controller writes', () => {
  const harnessFor = eachHarness();

  it('has as observedGeneration the generation that the run received, even if the cache has a newer generation', async () => {
    const written: unknown[] = [];
    const cached = (): Person | undefined => at.client.informer(Person).get({ name: 'ada' });
    const at = harnessFor({
      async reconcile({ object, status }) {
        if (object.metadata.generation === 1) {
          await at.change(Person, 'ada', { spec: { name: 'Ada' } });
          await at.holds(() => cached()?.metadata.generation === 2);
        }
        const { metadata, status: stored } = await status({ greeting: object.spec.name });
        written.push({ generation: metadata.generation, ...stored });
      },
    });
    await at.person('ada');
    await at.start();
    expect(written).to.deep.equal([
      { generation: 2, greeting: 'ada', observedGeneration: 1 },
      { generation: 2, greeting: 'Ada', observedGeneration: 2 },
    ]);
  });

  it('keeps the controller busy until the response to the write arrives, even when the event of the write arrives earlier', async () => {
    let runs = 0;
    let answer = (): void => {};
    const at = harnessFor({
      // The write is not awaited, because an awaited write would keep the mapping, and so the controller, busy.
      watches: [
        on(Badge, (_, { client }) => {
          const patch = { status: { greeting: 'hi', seen: 1 } };
          void client.patch(Person, 'ada', { type: 'merge', patch }, { subresource: 'status' });
          return [];
        }),
      ],
      reconcile: () => void (runs += 1),
    });
    await at.person('ada');
    await at.start();
    const { client } = at;
    const patch = client.patch.bind(client);
    client.patch = async (...given: Parameters<typeof patch>) => {
      const written = await patch(...given);
      await new Promise<void>((resolve) => (answer = resolve));
      // Changes the status in the response, as if another client had changed the status, too.
      return { ...written, status: {} } as never;
    };
    await client.create<Badge>(Badge, { metadata: { name: 'b' }, spec: { text: '' } });
    await at.holds(() => client.informer<Person>(Person).get({ name: 'ada' })?.status?.seen === 1);
    expect(at.manager.isIdle()).to.equal(false);
    expect(runs).to.equal(1);
    answer();
    await at.idle();
    expect(runs).to.equal(2);
  });
});
