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
  /** The plugins as they should be: compiled folders, or plugins. */
  readonly plugins: readonly (Plugin | string)[];
  /** The path of an export, whose objects are the state to begin with. Encrypted objects are left out, unless `encryptionConfig` has their keys. */
  readonly from: string;
  /** The path of an encryption configuration, whose keys open encrypted objects. Default none. */
  readonly encryptionConfig?: string;
  /** The function that the plugins call as `fetch`. Default: each request is refused, and its run fails. */
  readonly fetch?: typeof fetch;
  /** The time that passes for the plugins, in ms. Default 600,000: ten minutes. */
  readonly horizonMs?: number;
  /** The longest real time for which the plugins may be busy without a rest, in ms. Default 10,000. */
  readonly timeoutMs?: number;
}

/** A difference between an object of the export and the same object in the end. */
export interface PlannedChange {
  readonly action: 'create' | 'change' | 'delete';
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** Absent for `create`. */
  readonly before?: ApiObject;
  /** Absent for `delete`. */
  readonly after?: ApiObject;
  /** The number of writes of this object, if it still exists. */
  readonly writes?: number;
}

/** A run that failed, for the last time within the plan. */
export interface PlannedFailure {
  /** The controller, with the key of the object. */
  readonly what: string;
  readonly message: string;
}

/** The changes that plugins would make. */
export interface ChangePlan {
  /** The changes in the order of group, kind, namespace and name. */
  readonly changes: readonly PlannedChange[];
  /** The calls of other services that the plugins would have made. */
  readonly calls: readonly ExternalCall[];
  /** The last error of each key that had one. */
  readonly failures: readonly PlannedFailure[];
  /** The reason why the plugins still had work at the end; absent if they had none. */
  readonly unsettled?: string;
  /** The revision of the export. */
  readonly revision: number;
}

const optionNames = ['plugins', 'from', 'encryptionConfig', 'fetch', 'horizonMs', 'timeoutMs'] as const;

/**
 * The times, in ms, at which the clock stops until the plugins have no work, so that back-offs and timers run in order;
 * then it advances to the horizon.
 */
const stopsMs = [1000, 10_000, 60_000, 300_000] as const;

/**
 * Runs plugins against a copy of a state until they have no work, and returns the changes that they would make. The
 * copy is a server
 * in a temporary folder with a clock of its own; nothing is written elsewhere, and connections are refused. Rejects with
 * the errors of {@link startTestServer} and of an import, and with TypeError for an unknown option.
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

/** Resolves with the reason when the plugins still have work at the end. */
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
 * Keeps the last error of each key; a later success of the key does not remove it, so that cured failures are still
 * shown.
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
  // An object that was deleted and created again begins with version 1, so all of its versions count as writes.
  const writes = after.metadata.version - (before?.metadata.uid === after.metadata.uid ? before.metadata.version : 0);
  if (before === undefined) return { action: 'create', ...place, after, writes };
  return { action: 'change', ...place, before, after, writes };
}
