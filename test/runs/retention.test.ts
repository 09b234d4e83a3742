import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runModel } from '@homeostat/controller-runtime/api';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { eventually, startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';

const hourMs = 3_600_000;
/** A time longer than the interval at which the server deletes old records. */
const lookMs = 31_000;

describe('old records of runs', () => {
  const clock = new FakeClock();
  let folder: string;
  let server: TestServer;

  const start = async (): Promise<TestServer> =>
    startTestServer({ database: `sqlite:${join(folder, 'runs.db')}`, clock });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-retention-'));
    server = await start();
  });

  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  /** Records runs of a controller. Run number n began n milliseconds after `fromMs`. */
  async function record(controller: string, count: number, fromMs: number): Promise<void> {
    const object = { apiVersion: 'people.example.com/v1', kind: 'Person', name: 'ada' };
    const rest = { controller, object, triggers: [], attempt: 1, waitMs: 0, durationMs: 1, result: 'success' } as const;
    const numbers = Array.from({ length: count }, (_, index) => index);
    await Promise.all(
      numbers.map((number) =>
        server.client.create(runModel, {
          metadata: { name: `${controller.replace('/', '-')}-${number}`, namespace: 'default' },
          startTime: new Date(fromMs + number).toISOString(),
          ...rest,
        }),
      ),
    );
  }

  async function recorded(controller: string): Promise<readonly string[]> {
    const query = { fieldSelector: `controller=${controller}`, sort: 'startTime,asc' };
    return (await server.client.list(runModel, query)).items.map(({ metadata }) => metadata.name);
  }

  /** Advances the clock by `ms`, and then by one interval of the server's search for old records, which it deletes. */
  async function pass(ms: number): Promise<void> {
    await clock.advance(ms);
    await server.settle();
    await clock.advance(lookMs);
  }

  it('are deleted, except the newest 1,000 of each controller [slow]', async () => {
    await record('test/busy', 1010, clock.now());
    await record('test/calm', 3, clock.now() - hourMs);
    await pass(0);
    await eventually(async () => (await recorded('test/busy')).length === 1000);
    expect((await recorded('test/busy')).slice(0, 1)).to.deep.equal(['test-busy-10']);
    expect(await recorded('test/calm')).to.have.length(3);
  });

  it('stay after a restart, and are deleted after 24 hours by the new server [slow]', async () => {
    await server.stop();
    server = await start();
    expect(await recorded('test/busy')).to.have.length(1000);
    expect(await recorded('test/calm')).to.have.length(3);
    await pass(23 * hourMs);
    await eventually(async () => (await recorded('test/calm')).length === 0);
    expect(await recorded('test/busy')).to.have.length(1000);
    await pass(hourMs);
    await eventually(async () => (await recorded('test/busy')).length === 0);
  });
});
