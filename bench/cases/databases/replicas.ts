import { setTimeout as sleep } from 'node:timers/promises';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { Engine } from '../../children/databases.ts';
import { figuresOf } from '../../measure/figures.ts';
import type { Figures } from '../../measure/figures.ts';
import { formatRequest, HttpConnection, loadHttp } from '../../load/http-load.ts';
import { newPerson, personsPath, threeIndexes } from '../../load/person.ts';
import { allOf, p50AtMost, p99AtMost } from '../../measure/result-table.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';
import { Watchers, watchFromNow } from '../../load/watchers.ts';

/** The rate of writes, so low that they do not overlap. */
const writesPerSecond = 20;

/**
 * Measures the time until a watcher at another replica has received a write. The time is measured in two ways: from the
 * response, when the write is durable, and from the sending of the write, for the total time of a client.
 */
export async function replicas({ settings }: CaseContext): Promise<readonly Row[]> {
  await using databases = new Child('databases');
  const rows: Row[] = [];
  for (const engine of ['postgres', 'mysql'] as const) {
    const database = await databases.call<string | undefined>('create', engine);
    if (database !== undefined) rows.push(...(await deliveriesOn(engine, database, settings)));
  }
  return rows;
}

interface Rounds {
  readonly rounds: number;
  readonly seconds: number;
}

/**
 * Measures, on one database engine, when watchers at another replica and at the same replica receive a write. Returns
 * the rows of the table of results.
 */
export async function deliveriesOn(
  engine: Engine,
  database: string,
  { rounds, seconds }: Rounds,
): Promise<readonly Row[]> {
  await using written = new Child('api-server');
  await using watched = new Child('api-server');
  const url = await written.call<string>('start', database);
  const otherUrl = await watched.call<string>('start', database);
  await written.call('register', threeIndexes);
  await watched.call('register', threeIndexes);
  using there = await Watchers.connect(otherUrl + personsPath + watchFromNow, 1);
  using here = await Watchers.connect(url + personsPath + watchFromNow, 1);
  using connection = await HttpConnection.connect(url);
  const count = Math.ceil(writesPerSecond * seconds);
  let number = 0;
  const nextNumber = (): number => (number += 1);
  // The warm-up runs at full speed: with only a few writes per second, V8 would optimise the code only near the end of
  // the run.
  await loadHttp({ url, connections: 1, seconds, request: () => creation(nextNumber()) });
  const contestant = (watchers: Watchers, since: Since) => () =>
    deliver(watchers, { connection, count, nextNumber, since });
  const found = await alternate(rounds, {
    answered: contestant(there, 'answered'),
    answeredHere: contestant(here, 'answered'),
    sent: contestant(there, 'sent'),
    sentHere: contestant(here, 'sent'),
  });
  const target =
    engine === 'etcd'
      ? p99AtMost(15, found.answered)
      : allOf(p50AtMost(2, found.answered), p99AtMost(10, found.answered));
  const name = `replicas on ${engine}, ${writesPerSecond} writes/s: time to a watcher`;
  return [
    {
      name: `${name}, measured from the response to the write`,
      ours: found.answered,
      limit: found.answeredHere,
      ...(engine !== 'mysql' && { target }),
    },
    { name: `${name}, measured from the sending of the write`, ours: found.sent, limit: found.sentHere },
  ];
}

type Since = 'sent' | 'answered';

interface Writing {
  readonly connection: HttpConnection;
  readonly count: number;
  readonly nextNumber: () => number;
  readonly since: Since;
}

/** Sends one write after the other at a fixed rate, but none before the previous write has arrived at the watcher. */
async function deliver(watchers: Watchers, { connection, count, nextNumber, since }: Writing): Promise<Figures> {
  const latencies = new Float64Array(count);
  const startMs = performance.now();
  for (const position of latencies.keys()) {
    // The first write waits as well, because earlier writes may still be on their way to this watcher.
    await sleep(startMs + ((position + 1) * 1000) / writesPerSecond - performance.now());
    const request = creation(nextNumber());
    const arrived = watchers.collect(1);
    const sentMs = performance.now();
    const answered = connection.send(request).then(() => performance.now());
    const [arrivalsMs, answeredMs] = await Promise.all([arrived, answered]);
    // If the watcher receives the change before the writer receives the response, the latency counts as 0.
    latencies[position] = Math.max(0, (arrivalsMs[0]?.[0] ?? Number.NaN) - (since === 'sent' ? sentMs : answeredMs));
  }
  return figuresOf(latencies, performance.now() - startMs);
}

function creation(number: number): string {
  return formatRequest('POST', personsPath, JSON.stringify(newPerson({ name: `p-${number}`, number })));
}
