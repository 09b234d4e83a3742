// Servers that break a promise, each in one place, to prove that the checkers notice. Planted from outside, into the
// compiled classes of the API server, in the process of a test's server alone.
import { setTimeout as delay } from 'node:timers/promises';

/**
 * - `earlyAnswers`: a write is acknowledged a fifth of a second before it is durable
 * - `lostChanges`: one change in three hundred is not told to watchers; the fiftieth is the first
 * - `staleReads`: one read in twenty is answered with what the one before it saw of the object
 * - `unaskedReads`: a replica reads its memory without asking the database how far the others are
 */
export type Mutant = 'earlyAnswers' | 'lostChanges' | 'staleReads' | 'unaskedReads';

const mutants: Readonly<Record<Mutant, () => Promise<void>>> = {
  earlyAnswers: plantEarlyAnswers,
  lostChanges: plantLostChanges,
  staleReads: plantStaleReads,
  unaskedReads: plantUnaskedReads,
};

/** To be called before the server starts. */
export function plant(mutant: Mutant): Promise<void> {
  return mutants[mutant]();
}

/** How long a write is on its way after its response. */
const lagMs = 200;

/** What of the store's commit is used here: no write of a history is refused by the store of a single server. */
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

/** A compiled module of the API server, by its path in the package. */
async function load<Module>(path: string): Promise<Module> {
  return (await import(new URL(path, import.meta.resolve('@homeostat/apiserver')).href)) as Module;
}
