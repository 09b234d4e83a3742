import { createManager } from '@homeostat/controller-runtime';
import { controller, terminal } from 'homeostat';
import type { ControllerOptions, FromModel, ReconcileContext, ReconcileResult } from 'homeostat';
import { checkConvergence, FakeClock, startTestServer } from 'homeostat/testing';
import { expect } from 'chai';
import { runControllers, transports } from './both-clients.ts';
import type { Running, Transport } from './both-clients.ts';
import { Team, Worker } from './models.ts';

type TeamObject = FromModel<typeof Team>;
type TeamRun = ReconcileContext<TeamObject>;
type Timing = Pick<ControllerOptions<TeamObject>, 'every' | 'schedule' | 'cleanup' | 'predicates'>;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** The start time of a fake clock. */
const midnight = '2030-01-01T00:00:00Z';

interface Scheduled extends Running {
  /** Returns the runs since the last call, each as the name of the object, and the slot or `-`. */
  read(): readonly string[];
  /** Advances the clock to a time, and waits for the runs. */
  to(time: string): Promise<void>;
}

/**
 * Returns the tag of slow tests for HTTP, because days of fake time take seconds there. Both transports follow the same
 * rules for slots.
 */
const tierOf = (transport: Transport): string => (transport === 'over HTTP' ? ' [slow]' : '');

for (const transport of transports) {
  describe(`a schedule, ${transport}${tierOf(transport)}`, () => {
    it('causes one run of each object at each slot, with the slot and the reason', async () => {
      const reasons: string[] = [];
      const at = await runTeams(transport, { schedule: '0 3 * * *' }, ({ scheduled, reasons: given }) => {
        if (scheduled !== undefined) reasons.push(...given.map(({ type, detail }) => `${type} ${detail}`));
      });
      expect(at.read()).to.deep.equal(['red -']);
      await at.to('2030-01-01T02:59:59Z');
      expect(at.read()).to.deep.equal([]);
      await at.to('2030-01-01T03:00:00Z');
      expect(at.read()).to.deep.equal(['red 2030-01-01T03:00:00Z']);
      await at.to('2030-01-02T03:00:00Z');
      expect(at.read()).to.deep.equal(['red 2030-01-02T03:00:00Z']);
      expect(reasons).to.deep.equal(['schedule 2030-01-01T03:00:00Z', 'schedule 2030-01-02T03:00:00Z']);
      await at.stop();
    });

    it('does not run a completed slot again after a change of the object, or after a restart between slots', async () => {
      const at = await runTeams(transport, { schedule: '0 * * * *' });
      await at.to('2030-01-01T01:00:00Z');
      expect(at.read()).to.deep.equal(['red -', 'red 2030-01-01T01:00:00Z']);
      await at.client.patch(Team, 'red', { type: 'merge', patch: { spec: { size: 2 } } });
      await at.settle();
      await at.restart();
      await at.settle();
      expect(at.read()).to.deep.equal(['red -', 'red -']);
      await at.to('2030-01-01T02:00:00Z');
      expect(at.read()).to.deep.equal(['red 2030-01-01T02:00:00Z']);
      await at.stop();
    });

    it('runs a slot again with the same time when its run failed', async () => {
      const tries = { left: 2 };
      const at = await runTeams(transport, { schedule: '0 * * * *' }, ({ scheduled }) => {
        if (scheduled === undefined || tries.left === 0) return;
        tries.left -= 1;
        throw new Error('this slot fails');
      });
      at.read();
      await at.to('2030-01-01T01:00:00Z');
      await at.to('2030-01-01T01:05:00Z');
      expect(at.read()).to.deep.equal(Array(3).fill('red 2030-01-01T01:00:00Z'));
      await at.stop();
    });

    it('runs a slot again with the same time when the controller stopped during its run, even with `missed: skip`', async () => {
      const hold = { is: true };
      const at = await runTeams(
        transport,
        { schedule: { cron: '0 * * * *', missed: 'skip' } },
        async ({ scheduled, signal }) => {
          if (scheduled === undefined || !hold.is) return;
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        },
      );
      at.read();
      await at.clock.advance(hourMs);
      await at.clock.runUntil(() => at.runs.length > 0, minuteMs);
      expect(at.read()).to.deep.equal(['red 2030-01-01T01:00:00Z']);
      await at.whileDown(async () => {
        hold.is = false;
        await at.clock.advance(3 * hourMs);
      });
      await at.settle();
      expect(at.read()).to.deep.equal(['red 2030-01-01T01:00:00Z']);
      await at.to('2030-01-01T05:00:00Z');
      expect(at.read()).to.deep.equal(['red 2030-01-01T05:00:00Z']);
      await at.stop();
    });

    it('runs none, the last or all of the missed slots, as the option `missed` says [slow]', async () => {
      const expected = {
        skip: ['-'],
        last: ['2030-01-01T04:00:00Z'],
        all: ['2030-01-01T02:00:00Z', '2030-01-01T03:00:00Z', '2030-01-01T04:00:00Z'],
      };
      for (const missed of ['skip', 'last', 'all'] as const) {
        const at = await runTeams(transport, { schedule: { cron: '0 * * * *', missed } });
        await at.to('2030-01-01T01:00:00Z');
        expect(at.read().at(-1)).to.equal('red 2030-01-01T01:00:00Z');
        await at.whileDown(() => at.clock.advance(3.5 * hourMs));
        await at.settle();
        expect(at.read()).to.deep.equal(expected[missed].map((slot) => `red ${slot}`));
        await at.to('2030-01-01T05:00:00Z');
        expect(at.read()).to.deep.equal(['red 2030-01-01T05:00:00Z']);
        await at.stop();
      }
    });

    it('may be a function of the object; when the object gets a new schedule, only slots after the change run', async () => {
      const schedule = ({ spec: { size } }: TeamObject): string | undefined =>
        size < 60 ? `${size} * * * *` : undefined;
      const at = await runTeams(transport, { schedule }, undefined, { teams: { red: 10, blue: 20 } });
      at.read();
      await at.to('2030-01-01T00:10:00Z');
      expect(at.read()).to.deep.equal(['red 2030-01-01T00:10:00Z']);
      await at.to('2030-01-01T00:30:00Z');
      expect(at.read()).to.deep.equal(['blue 2030-01-01T00:20:00Z']);
      await at.client.patch(Team, 'red', { type: 'merge', patch: { spec: { size: 25 } } });
      await at.client.patch(Team, 'blue', { type: 'merge', patch: { spec: { size: 99 } } });
      await at.settle();
      expect(at.read()).to.have.members(['red -', 'blue -']);
      expect((await at.client.get(Team, 'blue')).metadata.annotations ?? {}).to.deep.equal({});
      await at.to('2030-01-01T01:25:00Z');
      expect(at.read()).to.deep.equal(['red 2030-01-01T01:25:00Z']);
      await at.stop();
    });

    it('follows the local time of a time zone at the start of daylight saving time [slow]', async () => {
      const timeZone = 'Europe/Berlin';
      const schedule = { cron: '30 2 * * *', timeZone };
      const at = await runTeams(transport, { schedule }, undefined, { startTime: '2030-03-30T00:00:00Z' });
      at.read();
      await at.to('2030-03-30T01:30:00Z');
      // On the 31st, the time 02:30 does not exist, so the slot is at 03:00 summer time.
      await at.to('2030-03-31T01:00:00Z');
      await at.to('2030-04-01T00:30:00Z');
      expect(at.read()).to.deep.equal([
        'red 2030-03-30T01:30:00Z',
        'red 2030-03-31T01:00:00Z',
        'red 2030-04-01T00:30:00Z',
      ]);
      await at.stop();
    });

    it('runs in addition to the interval in `every`, and to a run that the reconciler requests with `after`', async () => {
      const at = await runTeams(transport, { every: '20m', schedule: '30 0 * * *' }, ({ scheduled, now }) =>
        scheduled === undefined && now === midnight ? { after: '5m' } : undefined,
      );
      expect(at.read()).to.deep.equal(['red -']);
      await at.to('2030-01-01T00:05:00Z');
      expect(at.read()).to.deep.equal(['red -']);
      await at.to('2030-01-01T00:24:59Z');
      expect(at.read()).to.deep.equal([]);
      await at.to('2030-01-01T00:25:00Z');
      expect(at.read()).to.deep.equal(['red -']);
      await at.to('2030-01-01T00:30:00Z');
      expect(at.read()).to.deep.equal(['red 2030-01-01T00:30:00Z']);
      await at.to('2030-01-01T00:50:00Z');
      expect(at.read()).to.deep.equal(['red -']);
      await at.stop();
    });

    it('runs each object at the interval that `every` returns for the object, and stores no annotation', async () => {
      const every = ({ spec: { size } }: TeamObject): string | undefined => (size > 0 ? `${size}m` : undefined);
      const at = await runTeams(transport, { every }, undefined, { teams: { red: 10, blue: 0 } });
      expect(at.read()).to.have.members(['red -', 'blue -']);
      await at.to('2030-01-01T00:10:00Z');
      await at.to('2030-01-01T00:20:00Z');
      expect(at.read()).to.deep.equal(['red -', 'red -']);
      expect(at.requestsOfRuns()).to.equal(0);
      await at.stop();
    });

    it('that is invalid for one object does not stop the other runs of this object', async () => {
      const schedule = ({ spec: { size } }: TeamObject): string => `${size} 0 * * *`;
      const at = await runTeams(transport, { schedule }, undefined, { teams: { red: 61, blue: 30 } });
      expect(at.read()).to.have.members(['red -', 'blue -']);
      await at.to('2030-01-01T00:30:00Z');
      expect(at.read()).to.deep.equal(['blue 2030-01-01T00:30:00Z']);
      await at.client.patch(Team, 'red', { type: 'merge', patch: { spec: { size: 40 } } });
      await at.to('2030-01-01T00:40:00Z');
      expect(at.read()).to.deep.equal(['red -', 'red 2030-01-01T00:40:00Z']);
      await at.stop();
    });
  });
}

describe('a schedule', () => {
  it('drops all but the last 100 missed slots [slow]', async () => {
    const at = await runTeams('in process', { schedule: { cron: '* * * * *', missed: 'all' } });
    await at.whileDown(() => at.clock.advance(150 * minuteMs));
    at.read();
    await at.settle();
    const runs = at.read();
    expect(runs).to.have.length(100);
    expect([runs[0], runs.at(-1)]).to.deep.equal(['red 2030-01-01T00:51:00Z', 'red 2030-01-01T02:30:00Z']);
    await at.stop();
  });

  it('starts the run of a slot late when the run of the slot before takes longer than the interval', async () => {
    let release: (() => void) | undefined;
    const at = await runTeams('in process', { schedule: '* * * * *' }, async ({ scheduled }) => {
      if (scheduled === '2030-01-01T00:01:00Z') await new Promise<void>((resolve) => (release = resolve));
    });
    at.read();
    await at.clock.advance(minuteMs);
    await at.clock.runUntil(() => release !== undefined, 1000);
    await at.clock.advance(110_000);
    release?.();
    await at.settle();
    expect(at.read()).to.deep.equal(['red 2030-01-01T00:01:00Z', 'red 2030-01-01T00:02:00Z']);
    await at.stop();
  });

  it('counts a slot as completed when its run throws a terminal error, and runs the next slot', async () => {
    const at = await runTeams('in process', { schedule: '0 * * * *' }, ({ scheduled }) => {
      if (scheduled === '2030-01-01T01:00:00Z') throw terminal('this slot has no work');
    });
    at.read();
    await at.to('2030-01-01T01:00:00Z');
    await at.to('2030-01-01T02:00:00Z');
    expect(at.read()).to.deep.equal(['red 2030-01-01T01:00:00Z', 'red 2030-01-01T02:00:00Z']);
    await at.stop();
  });

  it('does not run for an object that is being deleted', async () => {
    const at = await runTeams('in process', { schedule: '0 * * * *', cleanup: () => ({ after: '30m' }) });
    at.read();
    await at.client.delete(Team, 'red');
    await at.to('2030-01-01T01:00:00Z');
    await at.to('2030-01-01T02:00:00Z');
    expect(at.read()).to.deep.equal([]);
    await at.stop();
  });

  it('is taken over by the next leader: an interrupted slot runs again, a completed slot does not [slow]', async () => {
    const clock = new FakeClock();
    const server = await startTestServer({ clock, models: [Team] });
    await server.client.create(Team, { metadata: { name: 'red' }, spec: { size: 1 } });
    const runs: string[] = [];
    const lead = (identity: string): (() => Promise<void>) => {
      const stop = new AbortController();
      const controllers = [
        controller(Team, {
          schedule: '0 * * * *',
          async reconcile({ scheduled, signal }) {
            runs.push(`${identity} ${scheduled ?? '-'}`);
            if (identity !== 'first' || scheduled !== '2030-01-01T02:00:00Z') return;
            await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
          },
        }),
      ];
      const leaderElection = { name: 'teams', identity };
      const running = createManager({ client: server.client, controllers, clock, leaderElection }).run(stop.signal);
      return async () => {
        stop.abort();
        let hasStopped = false;
        const stopped = running.finally(() => (hasStopped = true));
        await clock.runUntil(() => hasStopped);
        await stopped;
      };
    };
    const has = (run: string): Promise<void> => clock.runUntil(() => runs.includes(run));
    const stopFirst = lead('first');
    await has('first -');
    const stopSecond = lead('second');
    await has('first 2030-01-01T01:00:00Z');
    await has('first 2030-01-01T02:00:00Z');
    await stopFirst();
    await has('second 2030-01-01T02:00:00Z');
    await has('second 2030-01-01T03:00:00Z');
    await stopSecond();
    await server.stop();
    expect(runs.filter((run) => !run.endsWith('-'))).to.deep.equal([
      'first 2030-01-01T01:00:00Z',
      'first 2030-01-01T02:00:00Z',
      'second 2030-01-01T02:00:00Z',
      'second 2030-01-01T03:00:00Z',
    ]);
  });

  it('causes no run by its own annotations, even with a predicate that accepts every update', async () => {
    const at = await runTeams('in process', { schedule: '0 * * * *', predicates: [() => true] });
    await at.to('2030-01-01T01:00:00Z');
    expect(at.read()).to.deep.equal(['red -', 'red 2030-01-01T01:00:00Z']);
    await at.stop();
  });

  it('is refused at the declaration when it is invalid, with the option and the value in the error', () => {
    const refusals: readonly (readonly [Timing, string])[] = [
      [{ every: 'soon' }, 'controller "team": every: "soon" is not a duration'],
      [{ every: 0 }, 'controller "team": every: must be above 0, not 0'],
      [{ schedule: 'daily' }, 'controller "team": schedule: "daily" is not a cron expression of five fields'],
      [{ schedule: '0 0 3 * * *' }, 'schedule: "0 0 3 * * *" is not a cron expression of five fields'],
      [
        { schedule: '61 * * * *' },
        '"61 * * * *" is not a cron expression of five fields: Invalid value for minute: 61',
      ],
      [{ schedule: '? 3 * * *' }, '"? 3 * * *" is not a cron expression of five fields: write "*" in place of "?"'],
      [{ schedule: '0 0 30 2 *' }, 'schedule: "0 0 30 2 *" matches no time'],
      [{ schedule: `${'0,'.repeat(200)}0 * * * *` }, 'it has more than 256 characters'],
      [
        { schedule: { cron: '0 3 * * *', timeZone: 'Berlin' } },
        'schedule: timeZone must be the IANA name of a time zone, such as "Europe/Berlin", not "Berlin"',
      ],
      [{ schedule: { cron: '0 3 * * *', timeZone: '+01:00' } }, 'not "+01:00"'],
      [
        { schedule: { cron: '0 3 * * *', missed: 'some' as 'all' } },
        'schedule: missed must be "skip", "last" or "all", not "some"',
      ],
      [
        { schedule: { cron: '0 3 * * *', timezone: 'UTC' } as { cron: string } },
        'controller "team": schedule: unknown key "timezone". Did you mean "timeZone"?',
      ],
      [
        { schedule: 5 as unknown as string },
        'write a cron expression such as "0 3 * * *", or { cron, timeZone, missed }, not 5',
      ],
    ];
    for (const [timing, message] of refusals) {
      expect(() => controller(Team, { ...timing, reconcile: () => {} }), message).to.throw(message);
    }
  });

  it('leads to the same final state, whichever of its requests fails [slow]', async () => {
    await checkConvergence({
      models: [Team, Worker],
      controllers: () => [
        controller(Team, {
          schedule: { cron: '1,2 0 1 1 *', missed: 'all' },
          owns: [Worker],
          async reconcile({ scheduled, name, ensure }) {
            if (scheduled === undefined) return;
            await ensure(Worker, `${name}-${Date.parse(scheduled) / minuteMs}`, { spec: { task: 'dig' } });
          },
        }),
      ],
      async scenario({ client, clock, settle }) {
        await client.create(Team, { metadata: { name: 'red' }, spec: { size: 2 } });
        await settle();
        for (const slot of [1, 2]) {
          await clock.advance(Math.max(0, Date.parse(midnight) + slot * minuteMs - clock.now()));
          await settle();
        }
      },
      seeds: 3,
    });
  });
});

interface ScheduledTeams extends Scheduled {
  readonly runs: readonly string[];
  /** Stops the controllers, calls `work`, and starts the controllers again. */
  whileDown(work: () => Promise<void>): Promise<void>;
}

interface TeamOptions {
  /** The sizes of the teams by name. */
  readonly teams?: Readonly<Record<string, number>>;
  readonly startTime?: string;
}

/** Runs a controller of teams until it has no work. */
async function runTeams(
  transport: Transport,
  timing: Timing,
  reconcile: (run: TeamRun) => ReconcileResult | Promise<ReconcileResult> = () => {},
  { teams = { red: 1 }, startTime = midnight }: TeamOptions = {},
): Promise<ScheduledTeams> {
  const runs: string[] = [];
  const teamController = controller(Team, {
    ...timing,
    reconcile(run) {
      runs.push(`${run.name} ${run.scheduled ?? '-'}`);
      return reconcile(run);
    },
  });
  const at = await runControllers(transport, {
    models: [Team],
    controllers: [teamController],
    startTime,
    before: async (client) => {
      for (const [name, size] of Object.entries(teams))
        await client.create(Team, { metadata: { name }, spec: { size } });
    },
  });
  await at.settle();
  return {
    ...at,
    runs,
    read: () => runs.splice(0),
    to: async (time) => {
      await at.clock.advance(Date.parse(time) - at.clock.now());
      await at.settle();
    },
    whileDown: async (work) => {
      await at.pause();
      await work();
      await at.restart();
    },
  };
}
