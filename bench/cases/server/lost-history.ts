import { HostileProcess } from '@homeostat/test';
import { Child } from '../../processes/child.ts';
import type { Row } from '../../measure/result-table.ts';
import { StallMeter } from '../../measure/stall-meter.ts';

const kind = '/apis/hostile.example.com/v1';

/**
 * The maximum number of changes while the server is suspended. They have 5 MB together, and the servers keep only 1 MB
 * of history.
 */
const mostChanged = 5_000;

/**
 * The time to wait after the changes. In this time, the server that made the changes certainly removes the history
 * beyond its limit from the database.
 */
const compactedWithinMs = 5_000;

/** The run fails if a server takes longer than this to read all objects again. */
const caughtUpWithinMs = 120_000;

/**
 * {@link expectLost} lists the objects as they were this number of changes ago. Servers always keep more changes than
 * this in memory.
 */
const recentRevisions = 50;

const row = 'while a server reads all objects again after it has missed changes';

/**
 * Measures the longest stall of a server that must read all objects again. The server was suspended while another
 * server changed objects, until the history no longer had all these changes. Returns no row when there is no
 * PostgreSQL.
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
  /** The number of objects that `writer` changes. */
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
        throw new Error(
          `a read returned revision ${followed.toString()}, but an earlier write has revision ${revision.toString()}`,
        );
      await expectLost(server, revision);
    });
    return meter.rows.filter(({ target }) => target !== undefined);
  } finally {
    await server.stop();
  }
}

/**
 * Returns the resourceVersion of an object. A server that is still behind after 3 s responds with 504; the request is
 * then sent again, as clients do.
 */
async function revisionOf(server: HostileProcess, path: string): Promise<number> {
  const untilMs = performance.now() + caughtUpWithinMs;
  for (;;) {
    const { status, text } = await server.send({ method: 'GET', path });
    if (status === 200) return Number(/"resourceVersion":"(\d+)"/.exec(text)?.[1]);
    if (status !== 504 || performance.now() > untilMs)
      throw new Error(`a read failed with status ${status.toString()}: ${text}`);
  }
}

/**
 * Checks that the server has read all objects again: it responds with 410 to a list at a revision shortly before the
 * last change. A server that has applied the changes one by one still knows the state at that revision.
 */
async function expectLost(server: HostileProcess, revision: number): Promise<void> {
  const before = (revision - recentRevisions).toString();
  const path = `${kind}/things?limit=1&resourceVersion=${before}&resourceVersionMatch=Exact`;
  const { status } = await server.send({ method: 'GET', path });
  if (status !== 410) throw new Error(`the server did not have to read all objects again: ${status.toString()}`);
}
