import { controller, createClient, Lease } from '@homeostat/controller-runtime';
import type { Client } from '@homeostat/controller-runtime';
import { controllerModel } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { createTestKit, eventually, startTestServer } from 'homeostat/testing';
import type { TestKit, TestServer } from 'homeostat/testing';
import { KillableServer } from './support/servers/killable-server.ts';
import { Person as Greeted } from './support/models/models.ts';
import { TestDatabase } from './support/databases/postgres-server.ts';
import { Badge, Person } from './support/models/staff.ts';

const shards = 16;

/** Returns how many shards each process holds, in ascending order. */
async function spread(client: Client, name: string): Promise<readonly number[]> {
  const { items } = await client.list<Lease>(Lease, { namespace: 'default' });
  const own = items.filter(({ metadata }) => metadata.name.startsWith(`test.plugin.homeostat.internal.${name}.`));
  const counts = new Map<string, number>();
  for (const { spec: { holderIdentity = '' } = {} } of own) {
    if (holderIdentity !== '') counts.set(holderIdentity, (counts.get(holderIdentity) ?? 0) + 1);
  }
  return [...counts.values()].toSorted((a, b) => a - b);
}

describe('a sharded controller on replicas', () => {
  let database: TestDatabase;

  before(async function open() {
    database = await TestDatabase.create(this);
  });
  after(() => database?.drop());

  describe('that all run in one process [slow]', () => {
    const servers: TestServer[] = [];
    const running = new Map<string, string>();
    const overlaps: string[] = [];
    const workers = new Set<string>();
    let kit: TestKit | undefined;

    /** Returns a controller that makes a badge for each person, with the name of the person as its text. */
    const badges = (replica: string) =>
      controller(Person, {
        shards,
        owns: [Badge],
        async reconcile({ object, ensure }) {
          const { name } = object.metadata;
          const other = running.get(name);
          if (other !== undefined) overlaps.push(`${name} at ${other} and ${replica}`);
          running.set(name, replica);
          workers.add(replica);
          await ensure(Badge, name, { spec: { text: object.spec.name } });
          running.delete(name);
        },
      });

    const start = async (replica: string): Promise<TestServer> => {
      const server = await startTestServer({
        database: database.url,
        models: [Person, Badge],
        controllers: [badges(replica)],
        leaderElection: { leaseDurationMs: '3s', renewDeadlineMs: '2s', retryPeriodMs: '100ms' },
        reportRuns: true,
      });
      servers.push(server);
      return server;
    };
    const areSpread = (...counts: readonly number[]): Promise<unknown> =>
      eventually(async () => (await spread(servers[0]!.client, 'person')).join() === counts.join(), {
        timeoutMs: 15_000,
        describe: `shards to be spread as ${counts.join()}`,
      });
    const wear = (client: Client, names: readonly string[], text: (name: string) => string): Promise<unknown> =>
      eventually(
        async () => {
          const { items } = await client.list(Badge);
          const texts = new Map(items.map(({ metadata, spec }) => [metadata.name, spec?.text]));
          return names.every((name) => texts.get(name) === text(name));
        },
        { timeoutMs: 15_000, describe: 'all badges' },
      );

    after(async () => {
      await kit?.stop();
      await Promise.all(servers.map((server) => server.stop()));
    });

    it('works on all replicas, never on a key on two replicas at once, and converges while replicas join and leave', async function () {
      this.timeout(40_000);
      const { client } = await start('a');
      await areSpread(16);
      await start('b');
      const names = Array.from({ length: 60 }, (_, index) => `person-${index}`);
      await Promise.all(names.map((name) => client.create(Person, { metadata: { name }, spec: { name } })));
      await wear(client, names, (name) => name);
      await start('c');
      await areSpread(5, 5, 6);
      const texts = new Map(names.map((name) => [name, name]));
      const rename = async (name: string): Promise<void> => {
        const text = `${texts.get(name)}!`;
        texts.set(name, text);
        await client.patch(Person, name, { type: 'merge', patch: { spec: { name: text } } });
      };
      await Promise.all(names.map(rename));
      await wear(client, names, (name) => `${name}!`);
      expect([...workers].toSorted()).to.deep.equal(['a', 'b', 'c']);
      const [leaving] = servers.splice(1, 1);
      await Promise.all([leaving?.stop(), ...names.map(rename)]);
      await areSpread(8, 8);
      await wear(client, names, (name) => `${name}!!`);
      kit = createTestKit({ client, controllers: [badges('a restart')] });
      await kit.expectConverged({ timeoutMs: 15_000 });
      expect(overlaps).to.deep.equal([]);
    });

    it('is shown with one object of the kind Controller for each shard', async () => {
      const { httpClient, url } = servers[0]!;
      const { items } = await eventually(async () => {
        const list = await httpClient.list(controllerModel);
        return list.items.length === shards ? list : undefined;
      });
      expect(items.map(({ spec }) => spec.shard?.index).toSorted((x = 0, y = 0) => x - y)).to.deep.equal([
        ...Array(shards).keys(),
      ]);
      const page = (await (await fetch(`${url}/debug/controllers/person`)).json()) as { shards: { held: number[] } };
      expect(page.shards).to.deep.include({ of: shards });
    });
  });

  it('gives the shards of a killed process to others, and the server refuses late writes of a suspended process [slow]', async function () {
    this.timeout(90_000);
    const program = new URL('./support/servers/sharded-server.js', import.meta.url);
    const own = await TestDatabase.create(this);
    const replicas = new Map<string, KillableServer>();
    try {
      for (const name of ['a', 'b', 'c']) replicas.set(name, await KillableServer.run(program, own.url, name));
      const clientOf = (name: string): Client => createClient(replicas.get(name)?.url ?? '');
      const areSpread = (client: Client, counts: string): Promise<unknown> =>
        eventually(async () => (await spread(client, 'greeter')).join() === counts, { timeoutMs: 20_000 });
      const greetingOf = async (client: Client, name: string): Promise<string> =>
        (await client.get(Greeted, name)).status?.greeting ?? '';
      const a = clientOf('a');
      await areSpread(a, '5,5,6');
      const begun = await beginAtOther(a, (name) => greetingOf(a, name), 'a');
      replicas.get(begun.by)?.pause();
      const third = ['b', 'c'].find((name) => name !== begun.by) ?? '';
      await eventually(async () => (await greetingOf(a, begun.name)).startsWith('done by'), { timeoutMs: 20_000 });
      const done = await greetingOf(a, begun.name);
      expect(done).to.be.oneOf(['done by a', `done by ${third}`]);
      replicas.get(begun.by)?.resume();
      await areSpread(a, '5,5,6');
      expect(await greetingOf(a, begun.name)).to.equal(done);
      await replicas.get(third)?.kill();
      const names = Array.from({ length: 32 }, (_, index) => `late-${index}`);
      await Promise.all(names.map((name) => a.create(Greeted, { metadata: { name }, spec: { name } })));
      const greetings = async (): Promise<readonly string[]> =>
        (await a.list(Greeted)).items.map(({ status }) => status?.greeting ?? '');
      await eventually(async () => (await greetings()).every((text) => text.startsWith('done')), { timeoutMs: 20_000 });
      await areSpread(a, '8,8');
    } finally {
      for (const replica of replicas.values()) {
        replica.resume();
        await replica.kill();
      }
      await own.drop();
    }
  });
});

/** Creates persons until a process other than `self` has started to greet a person. */
async function beginAtOther(
  client: Client,
  greetingOf: (name: string) => Promise<string>,
  self: string,
): Promise<{ readonly name: string; readonly by: string }> {
  for (let number = 0; ; number += 1) {
    const name = `person-${number}`;
    await client.create(Greeted, { metadata: { name }, spec: { name } });
    const greeting = await eventually(async () => (await greetingOf(name)) || undefined);
    const by = greeting.split(' ').at(-1) ?? '';
    if (greeting.startsWith('begun') && by !== self) return { name, by };
  }
}
