import { HostileProcess } from '@homeostat/test';
import { Child } from '../../processes/child.ts';
import type { Row } from '../../measure/result-table.ts';
import { StallMeter } from '../../measure/stall-meter.ts';

const kind = '/apis/hostile.example.com/v1';

/** The maximum number of changes while the server is suspended. They are 5 MB, of which the servers keep 1 MB. */
const mostChanged = 5_000;

/** A time in which the other server has surely dropped the history beyond its bound from the database. */
const compactedWithinMs = 5_000;

/** The run fails if a server takes longer than this to read everything again. */
const caughtUpWithinMs = 120_000;

/** A number of changes that is smaller than the history that servers always keep. */
const recentRevisions = 50;

const row = 'a server that has lost its place in history';

/**
 * The longest stall of a server that was suspended until changes by the other server had left the history, so that it
 * has to read all objects again. Returns no row when there is no PostgreSQL.
 */
export async function measureLostHistory(objects: number, only: string): Promise<readonly Row[]> {
  if (!row.includes(only)) return [];
  await using databases = new Child('databases');
  const database = await databases.call<string | undefined>('create', 'postgres');
  if (database === undefined) return [];
  const writer = await HostileProcess.start(database);
  try {
    await writer.call('fill', objects);
    return await measureFollower({ writer, database, changed: Math.min(mostChanged, objects) });
  } finally {
    await writer.stop();
  }
}

interface Pair {
  readonly writer: HostileProcess;
  readonly database: string;
  /** The number of objects that the writer changes. */
  readonly changed: number;
}

async function measureFollower({ writer, database, changed }: Pair): Promise<readonly Row[]> {
  const server = await HostileProcess.start(database);
  const meter = new StallMeter(server);
  const last = `${kind}/namespaces/default/things/filled-${(changed - 1).toString()}`;
  try {
    await meter.measureIdle();
    await meter.measure(row, async () => {
      server.suspend();
      try {
        await writer.call('change', changed);
        await new Promise((resolve) => setTimeout(resolve, compactedWithinMs));
      } finally {
        server.resume();
      }
      const revision = await revisionOf(writer, last);
      const followed = await revisionOf(server, last);
      if (followed !== revision)
        throw new Error(`a read shows revision ${followed.toString()}, after ${revision.toString()} was stored`);
      await expectLost(server, revision);
    });
    return meter.rows.filter(({ target }) => target !== undefined);
  } finally {
    await server.stop();
  }
}

/** The resourceVersion of an object. A server that is still behind after 3 s responds with 504, and is asked again, as clients do. */
async function revisionOf(server: HostileProcess, path: string): Promise<number> {
  const untilMs = performance.now() + caughtUpWithinMs;
  for (;;) {
    const { status, text } = await server.send({ method: 'GET', path });
    if (status === 200) return Number(/"resourceVersion":"(\d+)"/.exec(text)?.[1]);
    if (status !== 504 || performance.now() > untilMs) throw new Error(`a read got ${status.toString()}: ${text}`);
  }
}

/**
 * Checks that the server has lost the history: a server that had applied the changes one by one would know the state
 * before the last one.
 */
async function expectLost(server: HostileProcess, revision: number): Promise<void> {
  const before = (revision - recentRevisions).toString();
  const path = `${kind}/things?limit=1&resourceVersion=${before}&resourceVersionMatch=Exact`;
  const { status } = await server.send({ method: 'GET', path });
  if (status !== 410) throw new Error(`the server has not lost its place in history: ${status.toString()}`);
}
