import { expect } from 'chai';
import { controller } from 'homeostat';
import type { Client, ControllerDefinition } from 'homeostat';
import { checkConvergence, ConvergenceError } from 'homeostat/testing';
import type { ConvergenceOptions, ScenarioContext } from 'homeostat/testing';
import { Badge, Person } from './support/models/staff.ts';
import {
  asksFirst,
  halfDone,
  saysWhose,
  trustsItsCache,
  waitsToBeTold,
  wholeOrAgain,
} from './support/models/staff-controllers.ts';

const check = (options: ConvergenceOptions) => checkConvergence({ models: [Badge], ...options });

const failureOf = async (options: ConvergenceOptions): Promise<ConvergenceError> => {
  const error: unknown = await check(options).catch((thrown: unknown) => thrown);
  if (!(error instanceof ConvergenceError)) throw error ?? new Error('it converged');
  return error;
};

const hire = (client: Client, name: string, isAway = false) =>
  client.create(Person, { metadata: { name }, spec: { name, isAway } });

const change = (client: Client, name: string, spec: object) =>
  client.patch(Person, name, { type: 'merge', patch: { spec } });

const comeAndGo = async ({ client, settle }: ScenarioContext): Promise<void> => {
  await hire(client, 'ada');
  await hire(client, 'bob');
  await settle();
  await client.delete(Person, 'bob');
};

const awayAndBack = async ({ client, settle }: ScenarioContext): Promise<void> => {
  await hire(client, 'ada', true);
  await settle();
  await change(client, 'ada', { isAway: false });
  await settle();
  await client.patch(Badge, 'ada', { type: 'merge', patch: { spec: { engraving: 'Countess' } } });
  await change(client, 'ada', { name: 'Ada Lovelace' });
};

describe('checkConvergence', () => {
  it('finds a controller that does not complete its work after a crash between two writes [slow]', async () => {
    const error = await failureOf({ controllers: [halfDone], scenario: comeAndGo });
    expect(error.faults).to.deep.equal(['crash after write 1, create Badge ada']);
    expect(error.differences).to.deep.equal([
      { object: 'Badge ada', path: 'spec', expected: { text: 'ada' }, found: undefined },
    ]);
    await check({ controllers: [wholeOrAgain], scenario: comeAndGo, seeds: 40 });
  });

  it('finds a controller that writes on the basis of an old state [slow]', async () => {
    const error = await failureOf({ controllers: [trustsItsCache], scenario: awayAndBack });
    expect(error.faults.join()).to.match(/caches \d changes behind/);
    expect(error.differences.map(({ object, path }) => `${object} ${path}`)).to.include('Badge ada spec.engraving');
    await check({ controllers: [asksFirst], scenario: awayAndBack, seeds: 40 });
  });

  it('finds a controller that misses changes while its process does not run [slow]', async () => {
    const error = await failureOf({ controllers: [waitsToBeTold], scenario: comeAndGo });
    expect(error.faults.join()).to.match(/crash|another leader/);
    expect(error.message).to.include('Badge bob: should not exist');
    await check({ controllers: [saysWhose], scenario: comeAndGo, seeds: 40 });
  });

  it('without seeds, injects one fault per run: each fault at each write (no conflict at a create), a refusal at each read [slow]', async () => {
    // The check runs the scenario once without faults and once with each of 14 faults. The scenario has two creates and
    // two reads. There are six faults at each create: a crash before it, three crashes after it, a lost response and a
    // refusal. There is one fault at each read: a refusal.
    const { runs, faults } = await check({ controllers: [wholeOrAgain], scenario: comeAndGo, seeds: [] });
    expect({ runs, faults }).to.deep.equal({ runs: 15, faults: 14 });
  });

  it('refuses reconcilers that write nothing, because the check would prove nothing', async () => {
    const idle = controller(Person, { reconcile: () => {} });
    const error: unknown = await check({ controllers: [idle], scenario: comeAndGo }).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(TypeError).with.property('message').that.includes('wrote nothing');
  });

  it('names the keys that still fail, with their last error', async () => {
    let writes = 0;
    const once = controller(Person, {
      async reconcile({ object, client }) {
        if (writes > 0) throw new Error('once is enough');
        await client.create(Badge, { metadata: { name: object.metadata.name } });
        writes += 1;
      },
    });
    const hireOne = async ({ client }: ScenarioContext) => void (await hire(client, 'ada'));
    const error = await failureOf({ controllers: [once], scenario: hireOne, seeds: [] });
    expect(error.message).to.match(/still failing:\n {2}person "ada", \d+ failures: once is enough/);
  });

  it('fails with the error of the scenario', async () => {
    const scenario = async () => {
      throw new Error('no such scenario');
    };
    const error = await failureOf({ controllers: [wholeOrAgain], scenario });
    expect(error.message).to.equal('the run without faults failed: no such scenario');
    expect(error.cause).to.have.property('message', 'no such scenario');
  });

  describe('invariants', () => {
    it('are checked after each write; the error names a broken invariant with the write that broke it [slow]', async () => {
      const invariants = {
        'a badge has a text': async (client: Client) => {
          const { items } = await client.list(Badge);
          for (const { spec } of items) expect(spec?.text).to.be.a('string');
        },
      };
      const hireOne = async ({ client }: ScenarioContext) => void (await hire(client, 'ada'));
      const error = await failureOf({ controllers: [halfDone], scenario: hireOne, invariants });
      expect(error.message).to.include(
        'the invariant "a badge has a text" was broken after create Badge ada: expected',
      );
      await check({ controllers: [wholeOrAgain], scenario: comeAndGo, invariants, seeds: 10 });
    });

    it('are also checked in runs with faults [slow]', async () => {
      const invariants = {
        'an engraved person has a badge': async (client: Client) => {
          const { items } = await client.list(Person, { labelSelector: 'engraved=yes' });
          for (const { metadata } of items) await client.get(Badge, metadata.name);
        },
      };
      const scenario = async (context: ScenarioContext) => {
        await awayAndBack(context);
        await context.client.patch(Person, 'ada', {
          type: 'merge',
          patch: { metadata: { labels: { engraved: 'yes' } } },
        });
      };
      const error = await failureOf({
        controllers: [trustsItsCache],
        scenario,
        invariants,
        normalise: () => undefined,
      });
      expect(error.message).to.match(/^a run with faults failed: the invariant .* was broken after delete Badge ada/);
      expect(error.seed).to.be.a('number');
    });
  });

  describe('comparing', () => {
    const stamped = (text: (run: number) => string): (() => readonly ControllerDefinition[]) => {
      let processes = 0;
      return () => {
        processes += 1;
        const made = text(processes);
        return [
          controller(Person, {
            async reconcile({ object, ensure }) {
              await ensure(Badge, object.metadata.name, { spec: { text: made } });
            },
          }),
        ];
      };
    };

    it('ignores differences in times, revisions and uids, but no others [slow]', async () => {
      const time = (process: number) => new Date(process * 1000).toISOString();
      await check({ controllers: stamped(time), scenario: comeAndGo, seeds: 5 });
      const error = await failureOf({ controllers: stamped(String), scenario: comeAndGo, seeds: 5 });
      expect(error.differences.map(({ path }) => path)).to.deep.equal(['spec.text']);
    });

    it('ignores fields that normalise removes [slow]', async () => {
      const normalise: ConvergenceOptions['normalise'] = (object) => ({ ...object, spec: {} });
      await check({ controllers: stamped(String), scenario: comeAndGo, normalise, seeds: 5 });
    });

    it('compares objects with generated names by their content when generatedNames is true [slow]', async () => {
      const handsOutTwo = controller(Person, {
        async reconcile({ object, client }) {
          const { uid } = object.metadata;
          const owner = { apiVersion: object.apiVersion, kind: object.kind, name: object.metadata.name, uid };
          const { items } = await client.list(Badge);
          for (const text of ['a', 'b'].filter((each) => !items.some(({ spec }) => spec?.text === each))) {
            await client.create(Badge, {
              metadata: { generateName: 'badge-', ownerReferences: [owner] },
              spec: { text },
            });
          }
        },
      });
      const scenario = async ({ client }: ScenarioContext) => void (await hire(client, 'ada'));
      const options = { controllers: [handsOutTwo], scenario, seeds: 10 };
      const error = await failureOf(options);
      expect(error.differences[0]?.object).to.match(/^Badge badge-.{5}$/);
      await check({ ...options, generatedNames: true });
    });
  });

  it('makes new controllers for each process when `controllers` is a function, so that a crash clears their memory [slow]', async () => {
    const remembers = () => {
      const known = new Set<string>();
      return [
        controller(Person, {
          reconcile: {
            async reconcile({ name, client }) {
              const { items } = await client.list(Person);
              const isHere = items.some(({ metadata }) => metadata.name === name);
              if (isHere) await client.ensure(Badge, name, { spec: { text: name } });
              if (isHere) known.add(name);
              for (const gone of [...known].filter((each) => !items.some(({ metadata }) => metadata.name === each))) {
                known.delete(gone);
                await client.delete(Badge, gone);
              }
            },
          },
        }),
      ];
    };
    const scenario = async (context: ScenarioContext) => {
      await comeAndGo(context);
      await context.settle();
      await hire(context.client, 'eve');
    };
    const error = await failureOf({ controllers: remembers, scenario, seeds: 40 });
    expect(error.message).to.include('Badge bob: should not exist');
  });

  it('keeps the properties of functions in the context of a reconciler, such as condition.summary', async () => {
    const kinds = new Set<string>();
    const asks = controller(Person, {
      owns: [Badge],
      async reconcile({ object, ensure, condition, event }) {
        kinds.add(`${typeof condition.summary} ${typeof event.onTransition}`);
        await ensure(Badge, object.metadata.name, { spec: { text: 'seen' } });
      },
    });
    await check({ controllers: [asks], seeds: 0, scenario: async ({ client }) => void (await hire(client, 'ada')) });
    expect([...kinds]).to.deep.equal(['function function']);
  });
});
