// Planted bugs, each of which breaks a guarantee, to prove that the checkers find them. They replace methods of the API
// server's compiled classes in the process of a test's server, which loads these classes instead of its bundle.
import { setTimeout as delay } from 'node:timers/promises';

/**
 * - `earlyAnswers`: a write is acknowledged a fifth of a second before it is durable
 * - `lostChanges`: one change in three hundred is not sent to watchers: the 50th, the 350th, and so on
 * - `staleReads`: one read in twenty returns the state of the object at an earlier read
 * - `unaskedReads`: a replica reads its memory without reading the database's revision first
 */
export type Mutant = 'earlyAnswers' | 'lostChanges' | 'staleReads' | 'unaskedReads';

const mutants: Readonly<Record<Mutant, () => Promise<void>>> = {
  earlyAnswers: plantEarlyAnswers,
  lostChanges: plantLostChanges,
  staleReads: plantStaleReads,
  unaskedReads: plantUnaskedReads,
};

/** Plants a bug. Call this before the packages of the server are loaded. */
export async function plantMutant(mutant: Mutant): Promise<void> {
  await import(new URL('../../../.ci/bundles/without-bundles.js', import.meta.url).href);
  await mutants[mutant]();
}

/** The time from the response to a write until the write is stored. */
const lagMs = 200;

/**
 * The methods of the store that `earlyAnswers` replaces. The new `commit` reports success for all writes before the
 * store executes them. These reports are too early, but never wrong, because the store of a single server refuses no
 * write of a history.
 */
interface SqliteStore {
  open(): Promise<{ revision: number }>;
  commit(batch: readonly unknown[]): Promise<unknown>;
}

async function plantEarlyAnswers(): Promise<void> {
  const { createSqliteStore } = await load<{ createSqliteStore: (options: object) => SqliteStore }>(
    'store/sqlite/sqlite-store.js',
  );
  const store = Object.getPrototypeOf(createSqliteStore({ memory: true })) as SqliteStore;
  const { open, commit } = store;
  let revision = 0;
  let written: Promise<unknown> = Promise.resolve();
  store.open = async function openAndCount() {
    const opened = await open.call(this);
    ({ revision } = opened);
    return opened;
  };
  store.commit = async function answerFirst(batch) {
    const before = revision;
    written = Promise.all([written, delay(lagMs)]).then(() => commit.call(this, batch));
    return { before, outcomes: batch.map(() => ({ revision: (revision += 1) })) };
  };
}

async function plantLostChanges(): Promise<void> {
  const { ChangeFeed } = await load<{ ChangeFeed: { prototype: { append(change: unknown): void } } }>(
    'index/change-feed.js',
  );
  const { append } = ChangeFeed.prototype;
  let changes = 0;
  ChangeFeed.prototype.append = function loseSome(change) {
    changes += 1;
    if (changes % 300 !== 50) append.call(this, change);
  };
}

async function plantStaleReads(): Promise<void> {
  type Get = (resource: unknown, key: { name: string }) => Promise<unknown>;
  const { Registry } = await load<{ Registry: { prototype: { get: Get } } }>('registry/registry.js');
  const { get } = Registry.prototype;
  const before = new Map<string, unknown>();
  let reads = 0;
  Registry.prototype.get = async function repeatSome(resource, key) {
    reads += 1;
    const old = before.get(key.name);
    if (reads % 20 === 0 && old !== undefined) return old;
    const entry = await get.call(this, resource, key);
    before.set(key.name, entry);
    return entry;
  };
}

async function plantUnaskedReads(): Promise<void> {
  type Reach = (resourceVersion: string | undefined) => Promise<void> | undefined;
  const { Revisions } = await load<{ Revisions: { prototype: { reach: Reach } } }>('registry/history/revisions.js');
  const { reach } = Revisions.prototype;
  Revisions.prototype.reach = function askNobody(resourceVersion) {
    return resourceVersion === undefined ? undefined : reach.call(this, resourceVersion);
  };
}

/** Imports a compiled module of the API server by its path in the package. */
async function load<Module>(path: string): Promise<Module> {
  return (await import(new URL(`../../../apiserver/dist/${path}`, import.meta.url).href)) as Module;
}
