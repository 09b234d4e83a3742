import { expect } from 'chai';
import { controller, on, poll, terminal } from 'homeostat';
import { checkConvergence, ConvergenceError } from 'homeostat/testing';
import type { ConvergenceOptions, RunnableParts, ScenarioContext } from 'homeostat/testing';
import { bugs, Card, Guest, host, undefinedIfAbsent } from './support/models/planted-bugs.ts';

const check = (options: ConvergenceOptions) => checkConvergence({ models: [Card], seeds: [], ...options });

const failureOf = async (options: ConvergenceOptions): Promise<ConvergenceError> => {
  const error: unknown = await check(options).catch((thrown: unknown) => thrown);
  if (!(error instanceof ConvergenceError)) throw error ?? new Error('it converged');
  return error;
};

/**
 * The scenario of docs/testing.md: it waits once for the controllers. Then it changes one object twice and deletes
 * another one, before the controllers can react.
 */
const comeAndGo = async ({ client, settle }: ScenarioContext): Promise<void> => {
  const rename = (name: string) => client.patch(Guest, 'ada', { type: 'merge', patch: { spec: { name } } });
  await client.create(Guest, { metadata: { name: 'ada' }, spec: { name: 'Ada' } });
  await client.create(Guest, { metadata: { name: 'bob' }, spec: { name: 'Bob' } });
  await settle();
  await rename('Ada L.');
  await rename('Ada Lovelace');
  await client.delete(Guest, 'bob');
};

const arrive = async ({ client }: Pick<ScenarioContext, 'client'>): Promise<void> => {
  await client.create(Guest, { metadata: { name: 'ada' }, spec: { name: 'Ada' } });
};

describe('checkConvergence, without random faults [slow]', () => {
  it('finds no difference for a controller without mistakes', async () => {
    const { runs, faults } = await check({ controllers: [host], scenario: comeAndGo });
    expect(faults).to.equal(runs - 1);
  });

  for (const [bug, planted] of Object.entries(bugs)) {
    it(`finds ${bug}`, async () => {
      const error = await failureOf({ controllers: [planted], scenario: comeAndGo });
      expect(error.faults).to.have.length.at.most(1);
    });
  }

  it('names the write that still ran at the end of a run because of a missing await', async () => {
    const planted = bugs['a missing await at the last write'];
    const error = await failureOf({ controllers: [planted], scenario: comeAndGo });
    expect(error.message).to.equal(
      'the run without faults failed: the run of guest "ada" ended before its request ' +
        '"patch status of Guest ada": is an await missing?',
    );
  });

  it('reports a run that does not await a function, and therefore ends before the function calls status', async () => {
    const planted = bugs['a missing await at a read before a write'];
    const error = await failureOf({ controllers: [planted], scenario: comeAndGo });
    expect(error.message).to.equal(
      'the run without faults failed: the run of guest "ada" ended before the run called status: is an await missing?',
    );
  });

  it('reports no missing await when a run fails while its writes are still under way', async () => {
    const both = controller(Guest, {
      async reconcile({ object, client, status }) {
        const { name } = object.metadata;
        const card = client.ensure(Card, name, { spec: { text: name } });
        await Promise.all([status({ greeting: name }), card]);
      },
    });
    await check({ controllers: [both], scenario: comeAndGo });
  });
});

describe('checkConvergence, for controllers whose runs fail or requeue even without faults', () => {
  const failing = (error: () => Error) =>
    controller(Guest, {
      async reconcile({ status, object }) {
        await status({ greeting: object.spec.name });
        throw error();
      },
    });

  it('rejects, and names the keys that still fail', async () => {
    const error = await failureOf({ controllers: [failing(() => new Error('no cards left'))], scenario: arrive });
    expect(error.message).to.match(
      /^the run without faults ended with permanent failures\nstill failing:\n {2}guest "ada", \d+ failures: no cards left$/,
    );
    // The cause is the thrown error, because test runners print its stack.
    expect(error.cause).to.have.property('message', 'no cards left');
  });

  it('rejects even if a later deletion of the object hides the failure', async () => {
    const error = await failureOf({
      controllers: [failing(() => new Error('no cards left'))],
      async scenario({ client, settle }) {
        await arrive({ client });
        await settle();
        await client.delete(Guest, 'ada');
      },
    });
    expect(error.message).to.match(
      /\nstill failing:\n {2}guest "ada", \d+ failures: no cards left; then its object was deleted$/,
    );
  });

  it('accepts a failure that ends when a user changes the object [slow]', async () => {
    const picky = controller(Guest, {
      async reconcile({ object, status }) {
        if (object.spec.name === '') throw terminal('no name');
        await status({ greeting: object.spec.name });
      },
    });
    await check({
      controllers: [picky],
      async scenario({ client, settle }) {
        await client.create(Guest, { metadata: { name: 'ada' }, spec: { name: '' } });
        await settle();
        await client.patch(Guest, 'ada', { type: 'merge', patch: { spec: { name: 'Ada' } } });
        await settle();
        await client.delete(Guest, 'ada');
      },
    });
  });

  it('rejects after a terminal error, which is not retried', async () => {
    const error = await failureOf({ controllers: [failing(() => terminal('no such guest'))], scenario: arrive });
    expect(error.message).to.match(/\n {2}guest "ada", 1 failure: no such guest$/);
  });

  it('rejects when a mapping or a source fails', async () => {
    const [watches, sources] = [
      [on(Card, () => Promise.reject(new Error('no such guest')))],
      [poll('doorbell', '10s', () => Promise.reject(new Error('no doorbell')))],
    ];
    const reconcile: typeof host.reconcile = ({ object, ensure }) => {
      return ensure(Card, object.metadata.name, {}).then(() => undefined);
    };
    const mapping = await failureOf({ controllers: [controller(Guest, { watches, reconcile })], scenario: arrive });
    expect(mapping.message).to.match(/\n {2}guest, mapping 1 of Card "ada": no such guest$/);
    const source = await failureOf({ controllers: [controller(Guest, { sources, reconcile })], scenario: arrive });
    expect(source.message).to.match(/^the run without faults ended.+\n.+\n {2}guest, source "doorbell": no doorbell$/);
  });

  it('accepts a mapping that succeeds after some failures [slow]', async () => {
    let calls = 0;
    const watches = [
      on(Card, () => {
        calls += 1;
        if (calls < 5) throw new Error('not yet');
        return [];
      }),
    ];
    const { reconcile } = host;
    await check({ controllers: [controller(Guest, { watches, reconcile })], scenario: arrive });
  });

  it('rejects when a runnable fails', async () => {
    const run = async () => {
      throw new Error('no doorbell');
    };
    const runnables = () => [{ name: 'doorbell', run }];
    const error = await failureOf({ controllers: [host], runnables, scenario: arrive });
    expect(error.message).to.match(/\n {2}runnable "doorbell": no doorbell$/);
  });

  it('accepts runs that request another run [slow]', async () => {
    const patient = controller(Guest, {
      async reconcile({ object, status }) {
        await status({ greeting: object.spec.name });
        return { requeue: true };
      },
    });
    await check({ controllers: [patient], scenario: arrive });
  });
});

describe('checkConvergence, for requests outside of runs', () => {
  const cardOf = controller(Guest, {
    async reconcile({ object, client, status }) {
      const card = await client.get(Card, object.metadata.name).catch(undefinedIfAbsent);
      await status({ card: card?.spec?.text ?? 'none' });
    },
  });
  const { reconcile } = cardOf;

  const cardComesLater = async (context: ScenarioContext): Promise<void> => {
    await arrive(context);
    await context.settle();
    await context.client.create(Card, { metadata: { name: 'ada' }, spec: { text: 'Hello' } });
    await context.clock.advance(600_000);
  };

  it('injects faults into requests of mappings [slow]', async () => {
    const careless = controller(Guest, {
      watches: [
        on(Card, async ({ metadata }, { client }) => {
          const guests = await client.list(Guest).catch(() => ({ items: [] }));
          return guests.items.map((guest) => guest.metadata.name).filter((name) => name === metadata.name);
        }),
      ],
      reconcile,
    });
    const error = await failureOf({ controllers: [careless], scenario: cardComesLater });
    expect(error.faults.join()).to.match(/^no connection at read \d+, list Guest$/);
    expect(error.differences).to.deep.equal([
      { object: 'Guest ada', path: 'status.card', expected: 'Hello', found: 'none' },
    ]);
  });

  it('waits until a failed mapping has been called again [slow]', async () => {
    const careful = controller(Guest, {
      watches: [
        on(Card, async ({ metadata }, { client }) => {
          const { items } = await client.list(Guest);
          return items.map((guest) => guest.metadata.name).filter((name) => name === metadata.name);
        }),
      ],
      reconcile,
    });
    await check({ controllers: [careful], scenario: cardComesLater });
  });

  it('injects faults into requests of sources, and waits until a failed source has started again [slow]', async () => {
    const polling = (isCareless: boolean) =>
      controller(Guest, {
        sources: [
          poll('cards', '10m', async ({ client }) => {
            const cards = client.list(Card);
            const { items } = await (isCareless ? cards.catch(() => ({ items: [] })) : cards);
            return items.map(({ metadata }) => metadata.name);
          }),
        ],
        reconcile,
      });
    await check({ controllers: [polling(false)], scenario: cardComesLater });
    const error = await failureOf({ controllers: [polling(true)], scenario: cardComesLater });
    expect(error.faults.join()).to.match(/^no connection at read \d+, list Card$/);
  });

  it('injects faults into requests of runnables, including their writes [slow]', async () => {
    const invitations =
      (isCareful: boolean) =>
      ({ client, clock }: RunnableParts) => [
        {
          name: 'invitations',
          async run(signal: AbortSignal) {
            while (!signal.aborted) {
              const card = { metadata: { name: 'invitation' }, spec: { text: 'come' } };
              const made = client.apply(Card, card, { fieldManager: 'invitations' });
              await (isCareful ? made.catch(() => undefined) : made);
              await new Promise<void>((resolve) => clock.setTimeout(resolve, 60_000));
            }
          },
        },
      ];
    const scenario = async (context: ScenarioContext): Promise<void> => {
      await arrive(context);
      await context.clock.advance(120_000);
    };
    await check({ controllers: [host], runnables: invitations(true), scenario });
    const error = await failureOf({ controllers: [host], runnables: invitations(false), scenario });
    expect(error.message).to.match(/runnable "invitations": .+ Card invitation .+\(injected\)/);
  });
});

describe('checkConvergence, for state that runs share outside of the API', () => {
  /** State outside of the API: the number of each guest by uid. The guest that is reconciled first has the number 1. */
  const numbers = new Map<string, number>();
  const registering = controller(Guest, {
    concurrency: 1,
    async reconcile({ object, status }) {
      const { uid } = object.metadata;
      if (!numbers.has(uid)) numbers.set(uid, numbers.size + 1);
      await status({ number: numbers.get(uid) ?? 0 });
    },
  });

  it('calls beforeRun before each run, so that beforeRun can reset the state [slow]', async () => {
    let resets = 0;
    const beforeRun: ConvergenceOptions['beforeRun'] = async ({ clock }) => {
      expect(clock.monotonicMs()).to.equal(0);
      await Promise.resolve();
      numbers.clear();
      resets += 1;
    };
    const { runs } = await check({ controllers: [registering], scenario: comeAndGo, beforeRun });
    expect(resets).to.equal(runs);
  });

  it('reports a difference between two runs without faults', async () => {
    numbers.clear();
    let coming = 0;
    const scenario = async ({ client }: ScenarioContext) => {
      coming += 1;
      await client.create(Guest, { metadata: { name: 'ada' }, spec: { name: `Ada ${coming}` } });
    };
    const error = await failureOf({ controllers: [host], scenario });
    expect(error.message).to.match(
      /^another run without faults ended in another state than the run without faults\ndifference/,
    );
    expect(error.faults).to.deep.equal([]);
  });
});

describe('the report of checkConvergence', () => {
  it('contains no differences between managed fields [slow]', async () => {
    let processes = 0;
    const controllers = () => {
      processes += 1;
      const fieldManager = `host-${processes}`;
      return [
        controller(Guest, {
          async reconcile({ object: { metadata, spec }, client }) {
            const card = { metadata: { name: metadata.name }, spec: { text: spec.name } };
            await client.apply(Card, card, { fieldManager, force: true });
          },
        }),
      ];
    };
    await check({ controllers, scenario: comeAndGo, seeds: 3 });
  });

  it('names only the faults that are needed for the failure, each in its simplest form [slow]', async () => {
    // Each of these seeds gives two or three faults, among them failures after a delay and stale caches.
    for (const seed of [5, 34, 37]) {
      const { faults } = await failureOf({ ...greetsTheYoung(), scenario: comeAndGo, seeds: [seed] });
      expect(faults, `seed ${seed}`).to.have.length(1);
      expect(faults.join()).to.match(/20000 ms$|20000 ms, beginning with event/);
    }
  });

  it('names the seed that repeats the run [slow]', async () => {
    const error = await failureOf({ ...greetsTheYoung(), scenario: comeAndGo, seeds: 40 });
    const { seed = NaN, faults } = error;
    expect(error.message.split('\n')).to.include.members([
      'a run with faults ended in another state than the run without faults',
      'faults:',
      ...faults.map((fault) => `  ${fault}`),
      'difference to the run without faults:',
      `run it again with seeds: [${seed}]`,
    ]);
    const again = await failureOf({ ...greetsTheYoung(), scenario: comeAndGo, seeds: [seed] });
    expect(again.message).to.equal(error.message);
  });
});

/**
 * Returns a controller that does not greet guests older than 15 s. This mistake appears only after a pause without
 * work.
 */
function greetsTheYoung(): Pick<ConvergenceOptions, 'controllers' | 'beforeRun'> {
  let now = (): number => 0;
  return {
    beforeRun: ({ clock }) => {
      now = () => clock.now();
    },
    controllers: [
      controller(Guest, {
        async reconcile({ object, status }) {
          const ageMs = now() - Date.parse(object.metadata.creationTimestamp);
          if (ageMs < 15_000) await status({ greeting: object.spec.name });
        },
      }),
    ],
  };
}
