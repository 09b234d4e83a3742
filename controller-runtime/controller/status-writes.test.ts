import { expect } from 'chai';
import { controller, type ControllerOptions } from './controller-definition.ts';
import { Harness, Person } from './harness.test-support.ts';

describe('a status that a controller writes', () => {
  let harness: Harness | undefined;

  const harnessFor = (options: ControllerOptions<Person>): Harness => {
    harness = new Harness({ controllers: [controller(Person, options)] });
    return harness;
  };

  afterEach(async () => {
    await harness?.stop();
    harness = undefined;
  });

  it('has the generation that the run was given, though the cache has a newer one by then', async () => {
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
});
