import { expect } from 'chai';
import { createInformer } from '../cache/list-watch-informer.ts';
import { ScriptedSource } from '../cache/scripted-source.fixture.ts';
import { silentLogger, type Logger } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import { Person, person } from '../client/example-person.fixture.ts';
import { controller } from '../controller/definition/controller-definition.ts';
import { capturedStderr } from './captured-stderr.fixture.ts';
import { FakeClock } from './fakes/fake-clock.ts';
import { createTestKit } from './test-kit.ts';
import type { TestKit } from './test-kit.ts';
import { testPatienceMs } from './test-patience.ts';

/** A client with only list, watch and informer. */
const clientOf = (source: ScriptedSource, clock: FakeClock): Client =>
  Object.assign(source, {
    informer: (model: typeof Person) =>
      createInformer({ client: source, model, selection: {}, clock, logger: silentLogger, random: () => 1 }),
  }) as unknown as Client;

describe('createTestKit', () => {
  let source: ScriptedSource;
  let kit: TestKit;
  let reconciled: string[];

  beforeEach(() => {
    source = new ScriptedSource();
    reconciled = [];
    const clock = new FakeClock();
    const record = controller(Person, {
      reconcile: async ({ object }) => {
        await new Promise((resolve) => setImmediate(resolve));
        reconciled.push(`${object.metadata.name}@${object.metadata.resourceVersion}`);
      },
    });
    kit = createTestKit({ client: clientOf(source, clock), controllers: [record], clock });
  });

  afterEach(() => kit.stop());

  it('settles once all objects of the server are reconciled', async () => {
    const watch = source.nextWatch();
    source.answerList('9', [person('a', '3')]);
    // settle() lists the kind once more, to learn whether the informer has received all objects. This second list
    // already contains the object b. The event of b reaches the informer only during this list, so settle() must wait
    // for it.
    source.lastList = { revision: '12', items: [person('a', '3'), person('b', '12')] };
    source.onList = (calls) => {
      if (calls === 2) watch.emit({ type: 'ADDED', object: person('b', '12') });
    };
    await kit.settle();
    expect(reconciled).to.deep.equal(['a@3', 'b@12']);
  });

  it('names the parts that are still busy when it does not settle', async () => {
    source.answerList('9', []);
    source.lastList = { revision: '12', items: [person('b', '12')] };
    const failure = await kit.settle({ timeoutMs: 50 / testPatienceMs(1) }).then(
      () => 'settled',
      (error: unknown) => (error as Error).message,
    );
    expect(failure).to.equal('not settled within 50 ms; still busy: controllers');
  });

  it('prints errors of reconcilers to stderr when it has no logger', async () => {
    const failing = controller(Person, {
      reconcile: () => {
        throw new Error('no greeting today');
      },
    });
    const settled = async (logger?: Logger): Promise<void> => {
      const own = new ScriptedSource();
      const clock = new FakeClock();
      const options = { client: clientOf(own, clock), controllers: [failing], clock };
      const failingKit = createTestKit(logger === undefined ? options : { ...options, logger });
      own.answerList('9', [person('a', '3')]);
      own.lastList = { revision: '9', items: [person('a', '3')] };
      await failingKit.settle();
      await failingKit.stop();
    };
    const printed = await capturedStderr(() => settled());
    expect(printed).to.match(/^error: reconcile failed; trying again controller='person' key='a' /);
    expect(printed).to.match(/\nError: no greeting today\n +at .*test-kit\.test/);
    expect(await capturedStderr(() => settled(silentLogger))).to.equal('');
  });

  it('leaves no list or watch running after stop', async () => {
    source.answerList('9', []);
    source.lastList = { revision: '9', items: [] };
    await kit.settle();
    await kit.stop();
    expect(source.active).to.equal(0);
  });
});
