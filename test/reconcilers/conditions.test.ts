import { controller } from 'homeostat';
import type { FromModel, Model, ReconcileContext } from 'homeostat';
import { expect } from 'chai';
import { runControllers, transports } from './both-clients.ts';
import type { Running, Transport } from './both-clients.ts';
import { Note, Team } from './models.ts';

type TeamRun = ReconcileContext<FromModel<typeof Team>>;

const plentyMs = 60_000;

for (const transport of transports) {
  describe(`conditions that a run sets, ${transport}`, () => {
    it('are written together at the end of the run, with the generation and the time of the clock', async () => {
      const at = await runTeam(transport, ({ condition }) => {
        condition('Staffed', 'True', { reason: 'Enough' });
        condition('Paid', 'False', { reason: 'NoMoney', message: 'the account is empty' });
        condition.summary('Ready', ['Staffed', 'Paid']);
      });
      const time = new Date(at.clock.now()).toISOString().replace(/\.\d+/, '');
      const common = { observedGeneration: 1, lastTransitionTime: time };
      const { status } = await at.client.get(Team, 'red');
      expect(status?.conditions).to.deep.equal([
        { ...common, type: 'Staffed', status: 'True', reason: 'Enough', message: '' },
        { ...common, type: 'Paid', status: 'False', reason: 'NoMoney', message: 'the account is empty' },
        { ...common, type: 'Ready', status: 'False', reason: 'NoMoney', message: 'Paid: the account is empty' },
      ]);
      expect(at.faulty.requests.filter(({ isWrite }) => isWrite)).to.have.length(1);
      await at.stop();
    });

    it('keep lastTransitionTime until their status changes, and are not written when nothing changes', async () => {
      const at = await runTeam(transport, ({ object, condition }) => {
        condition('Staffed', object.spec.size > 2 ? 'True' : 'False', { reason: `Size${object.spec.size}` });
      });
      const staffed = async (): Promise<unknown> => (await at.client.get(Team, 'red')).status?.conditions?.[0];
      const first = (await staffed()) as { readonly lastTransitionTime: string };
      const requests = at.requestsOfRuns();
      await change(at, { metadata: { labels: { again: 'yes' } } });
      expect(at.requestsOfRuns()).to.equal(requests);
      await change(at, { spec: { size: 2 } });
      expect(await staffed()).to.include({ reason: 'Size2', observedGeneration: 2, ...pick(first) });
      await change(at, { spec: { size: 3 } });
      const last = (await staffed()) as { readonly lastTransitionTime: string };
      expect(last).to.include({ status: 'True', reason: 'Size3' });
      expect(Date.parse(last.lastTransitionTime) - Date.parse(first.lastTransitionTime)).to.equal(3 * plentyMs);
      await at.stop();
    });

    it('are summarized with their current values when the run calls condition.summary again', async () => {
      const at = await runTeam(transport, async ({ condition, status }) => {
        condition('Staffed', 'False', { reason: 'Empty' });
        condition.summary('Ready', ['Staffed']);
        await status({ members: 1 });
        condition('Staffed', 'True', { reason: 'Enough' });
        await status({ members: 2 });
        condition.summary('Ready', ['Staffed']);
        condition('Staffed', 'True', { reason: 'Enough' });
      });
      const { status } = await at.client.get(Team, 'red');
      expect(status?.conditions?.map((each) => `${each.type}=${each.status}`)).to.deep.equal([
        'Staffed=True',
        'Ready=True',
      ]);
      await at.stop();
    });

    it('that the run sets after condition.summary also count for the summary', async () => {
      const at = await runTeam(transport, ({ condition }) => {
        condition('Staffed', 'True', { reason: 'Enough' });
        condition.summary('Ready', ['Staffed']);
        condition('Staffed', 'False', { reason: 'Gone' });
      });
      const { status } = await at.client.get(Team, 'red');
      expect(status?.conditions?.map(({ type, reason }) => `${type}=${reason}`)).to.deep.equal([
        'Staffed=Gone',
        'Ready=Gone',
      ]);
      await at.stop();
    });

    it('are written with the status, and also when the run throws', async () => {
      const at = await runTeam(transport, async ({ object, condition, status }) => {
        condition('Staffed', 'Unknown', { reason: 'Counting' });
        await status({ members: object.spec.size });
        condition('Staffed', 'False', { reason: 'Broken', message: 'it breaks' });
        throw new Error('it breaks');
      });
      const team = await at.client.get(Team, 'red');
      expect(team.status).to.include({ members: 1 });
      expect(team.status?.conditions?.[0]).to.include({ status: 'False', reason: 'Broken', message: 'it breaks' });
      await at.stop();
    });

    it('record an event with event.onTransition only when their status changes', async () => {
      const at = await runTeam(transport, ({ object, condition, event }) => {
        condition('Staffed', object.spec.size > 2 ? 'True' : 'False', {
          reason: `Size${object.spec.size}`,
          message: 'so',
        });
        event.onTransition(object.spec.size > 2 ? 'Normal' : 'Warning', 'Staffed');
      });
      await change(at, { spec: { size: 2 } });
      await change(at, { spec: { size: 3 } });
      const events = at.faulty.requests.filter(({ kind }) => kind === 'Event');
      expect(events).to.have.length(2);
      await at.stop();
    });
  });
}

describe('conditions', () => {
  it('cannot have a reason of two words, and cannot be set on a kind without status.conditions; event.onTransition refuses a condition that the run has not set', async () => {
    expect(await messageOf(Team, ({ condition }) => condition('Ready', 'True', { reason: 'two words' }))).to.equal(
      'condition Ready: the reason must be one CamelCase word, not "two words"',
    );
    expect(await messageOf(Note, ({ condition }) => condition('Ready', 'True', { reason: 'Fine' }))).to.equal(
      'Note has no status.conditions: add "conditions: conditionsSchema" to the schema of its status',
    );
    expect(await messageOf(Team, ({ event }) => event.onTransition('Normal', 'Redy'))).to.equal(
      'event.onTransition: this run has not set the condition "Redy": call condition() first',
    );
  });
});

/** Creates a team of size 1, and runs a controller of teams until it has no work. */
async function runTeam(transport: Transport, reconcile: (run: TeamRun) => void | Promise<void>): Promise<Running> {
  const at = await runControllers(transport, {
    models: [Team],
    controllers: [controller(Team, { reconcile })],
    before: (client) => client.create(Team, { metadata: { name: 'red' }, spec: { size: 1 } }),
  });
  await at.settle();
  return at;
}

/** Advances the clock by a minute, changes the team, and waits until its controller has no work. */
async function change(at: Running, patch: object): Promise<void> {
  await at.clock.advance(plentyMs);
  await at.client.patch(Team, 'red', { type: 'merge', patch });
  await at.settle();
}

function pick({ lastTransitionTime }: { readonly lastTransitionTime: string }): object {
  return { lastTransitionTime };
}

async function messageOf(model: Model, call: (run: ReconcileContext) => void): Promise<string | undefined> {
  let message: string | undefined;
  const reconcile = (run: ReconcileContext): void => {
    try {
      call(run);
    } catch (error) {
      message = error instanceof Error ? error.message : undefined;
    }
  };
  const at = await runControllers('in process', {
    models: [Team, Note],
    controllers: [controller(model, { reconcile })],
    before: async (client) => {
      await client.create(Team, { metadata: { name: 'red' }, spec: { size: 1 } });
      await client.create(Note, { metadata: { name: 'red' }, spec: {} });
    },
  });
  await at.settle();
  await at.stop();
  return message;
}
