import { controller, defineModel, Namespace } from 'homeostat';
import type { ScheduleOptions } from 'homeostat';
import { FakeClock, startTestServer } from 'homeostat/testing';
import { expect } from 'chai';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runControllers } from './both-clients.ts';
import type { Running } from './both-clients.ts';
import { Team } from './models.ts';

const Backup = defineModel({
  gvk: 'work.example.com/v1/Backup',
  plural: 'backups',
  scope: 'Namespaced',
  schema: { type: 'object', properties: { spec: { type: 'object', properties: {} } } },
});

interface SlotsOfTeam extends Running {
  /** Advances the clock in steps of 30 minutes to a time, and returns the slots that started runs until then. */
  slotsUntil(time: string): Promise<readonly string[]>;
}

async function runTeam(schedule: ScheduleOptions, startTime: string): Promise<SlotsOfTeam> {
  const slots: string[] = [];
  const definition = controller(Team, {
    schedule,
    reconcile({ scheduled }) {
      if (scheduled !== undefined) slots.push(scheduled);
    },
  });
  const before = (client: Running['client']) => client.create(Team, { metadata: { name: 'red' }, spec: { size: 1 } });
  const at = await runControllers('in process', { models: [Team], controllers: [definition], startTime, before });
  await at.settle();
  return {
    ...at,
    slotsUntil: async (time) => {
      while (at.clock.now() < Date.parse(time)) {
        await at.clock.advance(30 * 60_000);
        await at.settle();
      }
      return slots.splice(0);
    },
  };
}

describe('the slots of a schedule', () => {
  const timeZone = 'Europe/Berlin';

  it('contain a local time that occurs twice in autumn only once, at its first occurrence [slow]', async () => {
    const at = await runTeam({ cron: '30 2 * * *', timeZone }, '2030-10-26T12:00:00Z');
    expect(await at.slotsUntil('2030-10-28T02:00:00Z')).to.deep.equal(['2030-10-27T00:30:00Z', '2030-10-28T01:30:00Z']);
    await at.stop();
  });

  it('of an hourly schedule include each hour that passes, also when the clocks change [slow]', async () => {
    const autumn = await runTeam({ cron: '0 * * * *', timeZone }, '2030-10-26T22:30:00Z');
    const hours = (await autumn.slotsUntil('2030-10-27T03:00:00Z')).map((slot) => slot.slice(11, 13));
    expect(hours).to.deep.equal(['23', '00', '01', '02', '03']);
    await autumn.stop();
    const spring = await runTeam({ cron: '0 * * * *', timeZone }, '2030-03-30T22:30:00Z');
    const skipped = (await spring.slotsUntil('2030-03-31T03:00:00Z')).map((slot) => slot.slice(11, 13));
    expect(skipped).to.deep.equal(['23', '00', '01', '02', '03']);
    await spring.stop();
  });

  it('start a run for each object of a Namespaced kind', async () => {
    const runs: string[] = [];
    const definition = controller(Backup, {
      schedule: '0 * * * *',
      reconcile({ key, scheduled }) {
        if (scheduled !== undefined) runs.push(`${key.namespace} ${key.name} ${scheduled}`);
      },
    });
    const at = await runControllers('over HTTP', {
      models: [Backup],
      controllers: [definition],
      before: async (client) => {
        await client.create(Namespace, { metadata: { name: 'other' } });
        await client.create(Backup, { metadata: { name: 'daily', namespace: 'default' }, spec: {} });
        await client.create(Backup, { metadata: { name: 'daily', namespace: 'other' }, spec: {} });
      },
    });
    await at.settle();
    await at.clock.advance(3_600_000);
    await at.settle();
    const slot = '2030-01-01T01:00:00Z';
    expect(runs.toSorted()).to.deep.equal([`default daily ${slot}`, `other daily ${slot}`]);
    await at.restart();
    await at.settle();
    expect(runs).to.have.length(2);
    await at.stop();
  });

  it('start another run when the annotation with the last ended slot is set back to an earlier slot, as a restored backup does', async () => {
    const at = await runTeam({ cron: '0 * * * *', timeZone: 'UTC' }, '2030-01-01T00:00:00Z');
    expect(await at.slotsUntil('2030-01-01T02:00:00Z')).to.deep.equal(['2030-01-01T01:00:00Z', '2030-01-01T02:00:00Z']);
    const annotations = { 'slot-ended.work.example.com/team': '2030-01-01T00:00:00Z' };
    await at.client.patch(Team, 'red', { type: 'merge', patch: { metadata: { annotations }, spec: { size: 2 } } });
    expect(await at.slotsUntil('2030-01-01T02:30:00Z')).to.deep.equal(['2030-01-01T02:00:00Z']);
    await at.stop();
  });

  it('do not start another run when the write that records their end gets a conflict', async () => {
    const at = await runTeam({ cron: '0 * * * *', timeZone: 'UTC' }, '2030-01-01T00:30:00Z');
    let patches = 0;
    // The controller patches the object twice for each slot: when the run of the slot begins, and when it has ended.
    at.faulty.inject({ kind: 'conflict' }, ({ verb }) => verb === 'patch' && (patches += 1) === 2);
    expect(await at.slotsUntil('2030-01-01T01:30:00Z')).to.deep.equal(['2030-01-01T01:00:00Z']);
    await at.restart();
    await at.client.patch(Team, 'red', { type: 'merge', patch: { spec: { size: 2 } } });
    expect(await at.slotsUntil('2030-01-01T01:59:00Z')).to.deep.equal(['2030-01-01T02:00:00Z']);
    const { annotations } = (await at.client.get(Team, 'red')).metadata;
    expect(annotations).to.have.property('slot-ended.work.example.com/team', '2030-01-01T02:00:00Z');
    await at.stop();
  });

  it('start runs only if the plugin may patch the kind of the controller; otherwise an error names the verb and the kind', async () => {
    const errors: unknown[] = [];
    const logger = {
      debug() {},
      info() {},
      warn() {},
      error: ({ err }: { readonly err?: unknown }) => errors.push(err),
    };
    for (const [verbs, expected] of [
      ['get, list, watch', /patch.*teams/],
      ['get, list, watch, patch', undefined],
    ] as const) {
      const folder = await scheduledPlugin(verbs);
      const clock = new FakeClock();
      const server = await startTestServer({ plugins: [folder], clock, logger });
      await server.client.create(Team, { metadata: { name: 'red' }, spec: { size: 1 } });
      await server.settle();
      const { annotations } = (await server.client.get(Team, 'red')).metadata;
      expect(annotations !== undefined).to.equal(expected === undefined);
      if (expected !== undefined) expect((errors.splice(0)[0] as Error).message).to.match(expected);
      await server.stop();
      await rm(folder, { recursive: true });
    }
    expect(errors).to.deep.equal([]);
  });
});

/** Makes a plugin with a scheduled controller of teams. */
async function scheduledPlugin(verbs: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'homeostat-schedule-'));
  const models = pathToFileURL(new URL('models.js', import.meta.url).pathname).href;
  const host = import.meta.resolve('homeostat');
  const manifest = [
    'name: teams',
    'version: 1.0.0',
    'requires: ">=0.0.0"',
    'group: work.example.com',
    'main: index.js',
    'permissions:',
    `  - { apiGroups: [work.example.com], resources: [teams], verbs: [${verbs}] }`,
  ];
  await writeFile(join(folder, 'plugin.yaml'), manifest.join('\n'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await writeFile(
    join(folder, 'index.js'),
    `import { controller, definePlugin } from '${host}';
     import { Team } from '${models}';
     const teams = controller(Team, { schedule: '0 * * * *', reconcile() {} });
     export default definePlugin({ models: [Team], controllers: [teams] });`,
  );
  return folder;
}
