import { exportDatabase, importDatabase } from '@homeostat/apiserver';
import { unknownKeyOf } from '@homeostat/controller-runtime/api';
import type { ApiObject, Logger } from '@homeostat/controller-runtime/api';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Plugin } from '../sdk/plugin.ts';
import { startTestServer } from './test-server.ts';
import type { TestServer } from './test-server.ts';
import { errorText } from '../text/error-text.ts';
import { digestsOf, pickObjects } from './exported-state.ts';
import { withoutNetwork } from './refuse-network.ts';
import type { ExternalCall } from './refuse-network.ts';

export interface PlanOptions {
  /** The plugins to run: folders of compiled plugins, or plugins as values. */
  readonly plugins: readonly (Plugin | string)[];
  /**
   * The path of an export. The plan starts with the objects in the export. Without `encryptionConfig`, encrypted
   * objects are left out.
   */
  readonly from: string;
  /** The path of an encryption configuration with the keys to decrypt objects. Default: none. */
  readonly encryptionConfig?: string;
  /** The function that the plugins call as `fetch`. Default: a function that rejects, so that the reconcile fails. */
  readonly fetch?: typeof fetch;
  /** The simulated time that passes for the plugins, in ms. Default 600,000: ten minutes. */
  readonly horizonMs?: number;
  /**
   * The time limit, in ms of real time, for the plugins to become idle after each step of the simulated time. Default
   * 10,000.
   */
  readonly timeoutMs?: number;
}

/** The difference between an object in the export and the same object at the end of the simulated time. */
export interface PlannedChange {
  readonly action: 'create' | 'change' | 'delete';
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** The object in the export; absent for `create`. */
  readonly before?: ApiObject;
  /** The object at the end of the simulated time; absent for `delete`. */
  readonly after?: ApiObject;
  /** How often the plugins wrote the object during the simulated time; absent for a deleted object. */
  readonly writes?: number;
}

/** The last warning or error that was logged for one key of a controller. */
export interface PlannedFailure {
  /** The name of the controller, and the key of the object. */
  readonly what: string;
  readonly message: string;
}

/** The changes that plugins would make. */
export interface ChangePlan {
  /** The changes, in the order of the keys `/registry/<group>/<resource>/[<namespace>/]<name>`. */
  readonly changes: readonly PlannedChange[];
  /** The calls to external services that the plugins tried to make. */
  readonly calls: readonly ExternalCall[];
  /** The last warning or error of each key that had one. */
  readonly failures: readonly PlannedFailure[];
  /** The reason why the plugins still had work at the end; absent if they had no work. */
  readonly unsettled?: string;
  /** The revision of the database in the export file from which the plan starts. */
  readonly revision: number;
}

const optionNames = ['plugins', 'from', 'encryptionConfig', 'fetch', 'horizonMs', 'timeoutMs'] as const;

/**
 * The times, in ms, at which the simulated clock waits until the plugins have no work, so that back-offs and timers run
 * in order. After the last of these times, the clock advances to the end of the plan (`horizonMs`).
 */
const stopsMs = [1000, 10_000, 60_000, 300_000] as const;

/**
 * Runs plugins against the objects of an export for ten minutes (`horizonMs`) of a simulated clock, and returns the
 * changes that they would make. The objects are imported into a database in a temporary folder. Nothing is written
 * elsewhere. Each connection that a plugin opens fails. Rejects with the errors of {@link startTestServer} and
 * {@link importDatabase}, and with TypeError for an unknown option.
 */
export async function planChanges(options: PlanOptions): Promise<ChangePlan> {
  const unknown = unknownKeyOf(options, optionNames);
  if (unknown !== undefined) throw new TypeError(`planChanges: ${unknown}`);
  const folder = await mkdtemp(join(tmpdir(), 'homeostat-plan-'));
  try {
    return await planIn(`sqlite:${join(folder, 'plan.db')}`, options);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function planIn(database: string, options: PlanOptions): Promise<ChangePlan> {
  const { from, encryptionConfig, fetch } = options;
  const keys = encryptionConfig === undefined ? {} : { encryptionConfig };
  const { revision } = await importDatabase({
    database,
    file: from,
    withoutEncrypted: encryptionConfig === undefined,
    ...keys,
  });
  const failures = new Map<string, string>();
  return withoutNetwork(fetch === undefined ? {} : { fetch }, async (calls) => {
    const clock = new FakeClock(Date.now());
    const server = await startTestServer({
      database,
      clock,
      plugins: options.plugins,
      leaderElection: false,
      logger: failureLogger(failures),
      ...keys,
    });
    const unsettled = await runToRest(server, clock, options);
    await server.stop();
    const changes = await changesBetween(
      async () => createReadStream(from),
      async () => exportDatabase(database, keys),
    );
    return {
      changes,
      calls: calls(),
      failures: [...failures].map(([what, message]) => ({ what, message })),
      ...(unsettled === undefined ? {} : { unsettled }),
      revision,
    };
  });
}

/**
 * Advances the clock to the end of the plan (`horizonMs`), and stops it at each time in {@link stopsMs}. At
 * the start, at each stop and at the end, waits until the plugins have no work. If they still have work after
 * `timeoutMs`, does not advance the clock further, and resolves with the text of the error; otherwise resolves with
 * undefined.
 */
async function runToRest(
  server: TestServer,
  clock: FakeClock,
  { horizonMs = 600_000, timeoutMs = 10_000 }: PlanOptions,
): Promise<string | undefined> {
  try {
    await server.settle({ timeoutMs });
    let passedMs = 0;
    for (const stopMs of [...stopsMs.filter((each) => each < horizonMs), horizonMs]) {
      await clock.advance(stopMs - passedMs);
      passedMs = stopMs;
      await server.settle({ timeoutMs });
    }
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

/**
 * Returns a logger that keeps the last warning or error of each key. A later success of the key does not remove it, so
 * the plan also shows failures that a retry has repaired.
 */
function failureLogger(failures: Map<string, string>): Logger {
  const keep = (fields: object, message: string): void => {
    const { controller, key, err } = { controller: undefined, key: undefined, err: undefined, ...fields };
    const what = [controller, key].filter((part) => typeof part === 'string').join(' ');
    if (what !== '') failures.set(what, err === undefined ? message : errorText(err));
  };
  return { debug: () => undefined, info: () => undefined, warn: keep, error: keep };
}

type ReadExport = () => Promise<AsyncIterable<Uint8Array | string>>;

async function changesBetween(readBefore: ReadExport, readAfter: ReadExport): Promise<readonly PlannedChange[]> {
  const [before, after] = [await digestsOf(await readBefore()), await digestsOf(await readAfter())];
  const keys = new Set([...before.keys(), ...after.keys()].filter((key) => before.get(key) !== after.get(key)));
  const olds = await pickObjects(await readBefore(), keys);
  const news = await pickObjects(await readAfter(), keys);
  return [...keys].sort().flatMap((key) => changeOf(olds.get(key), news.get(key)) ?? []);
}

function changeOf(before: ApiObject | undefined, after: ApiObject | undefined): PlannedChange | undefined {
  const object = after ?? before;
  if (object === undefined) return undefined;
  const { apiVersion, kind, metadata } = object;
  const { namespace, name } = metadata;
  const place = { apiVersion, kind, ...(namespace === undefined ? {} : { namespace }), name };
  if (after === undefined) return { action: 'delete', ...place, ...(before === undefined ? {} : { before }) };
  // The version of an object that was deleted and created again starts at 1, so it is the number of writes.
  const writes = after.metadata.version - (before?.metadata.uid === after.metadata.uid ? before.metadata.version : 0);
  if (before === undefined) return { action: 'create', ...place, after, writes };
  return { action: 'change', ...place, before, after, writes };
}
