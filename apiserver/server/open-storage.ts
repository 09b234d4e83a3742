import { systemClock } from '@homeostat/controller-runtime';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import type { Metrics } from '@homeostat/controller-runtime/telemetry';
import { refuseUnfinishedImport } from '../backup/unfinished-import.ts';
import { Compactor } from '../registry/history/compactor.ts';
import { MemoryLimit } from '../limits/memory-limit.ts';
import { processMemory } from '../limits/process-memory.ts';
import type { Retention } from '../registry/history/compactor.ts';
import { Follower } from '../registry/follow/follower.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { Revisions } from '../registry/history/revisions.ts';
import { UnservedLog } from '../registry/kinds/unserved-log.ts';
import { GroupCommit } from '../store/group-commit.ts';
import type { Store } from '../store/store.ts';
import { StoreVault } from '../registry/vault/store-vault.ts';
import { measureCommits } from './database-health.ts';
import type { DatabaseHealth } from './database-health.ts';

export interface StorageParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retention: Retention;
  /** The number of processes that share the memory of the machine. */
  readonly processes: number;
  readonly health: DatabaseHealth;
  readonly metrics: Metrics;
  /** The kinds; undefined before the table exists. */
  readonly table: () => ResourceTable | undefined;
}

/** The open store, with the parts that keep memory equal to it. */
export interface OpenedStorage {
  readonly epoch: string;
  readonly log: UnservedLog;
  readonly revisions: Revisions;
  readonly commits: GroupCommit;
  readonly compactor: Compactor;
  readonly memory: MemoryLimit;
  /** Set when other processes write to the database as well. */
  readonly follower: Follower | undefined;
  readonly vault: StoreVault;
}

/** Returns the revision of the last commit of any process, and reports how reading it went. */
async function latestRevision(store: Store, health: DatabaseHealth): Promise<number> {
  try {
    const revision = await store.currentRevision();
    health.report('read', undefined);
    return revision;
  } catch (error) {
    health.report('read', error);
    throw error;
  }
}

/** Opens the store, and reads its history. */
export async function openStorage(parts: StorageParts): Promise<OpenedStorage> {
  const { store, clock, logger, retention, health } = parts;
  // The memory of the process changes in the system's time, also when a test moves another clock by days.
  const measured = { meter: processMemory(parts.processes), clock: systemClock };
  const memory = new MemoryLimit({ ...measured, logger, onFull: () => void compactor.compact() });
  const opened = await store.open();
  await refuseUnfinishedImport(store);
  // The ages of logged changes are unknown after a restart, so the newest part of the log is kept for watchers.
  const floor = Math.max(opened.compactRevision, opened.revision - retention.minChanges);
  const vault = await StoreVault.read(store);
  const log = new UnservedLog(floor, vault.kindNumber);
  const trim = async (upTo: number): Promise<void> => {
    log.trim(upTo);
    const served = parts.table()?.served() ?? [];
    for (const resource of served) resource.trim(upTo);
    for (const resource of served) await resource.compactMemory();
  };
  const compactor = new Compactor({
    store,
    clock,
    logger,
    retention,
    floor,
    trim,
    isMemoryShort: () => memory.isFull,
  });
  await log.read(store, (change) => {
    if (change.kind === vault.kindNumber) vault.apply(change);
    compactor.record(change.revision, change.data.length);
  });
  const latest = (): Promise<number> => latestRevision(store, health);
  const shared = store.isShared ? { latest, onWanted: (revision: number) => follower?.hear(revision) } : {};
  const start = Math.max(log.revision, opened.revision);
  const revisions = new Revisions({ clock, start, history: compactor, ...shared });
  const commits: GroupCommit = new GroupCommit(measureCommits(store, parts), {
    onError: (err) => logger.error({ err }, 'a committed change could not be applied'),
    ...(store.isShared && { follow: async (before) => follower?.reach(before), onIdle: () => follower?.resume() }),
  });
  const follower = store.isShared
    ? new Follower({
        ...parts,
        log,
        hidden: vault,
        revisions,
        table: parts.table,
        isCommitting: () => commits.isCommitting(),
        latest,
        onRead: (error) => health.report('follow', error),
      })
    : undefined;
  vault.connect({ commits, revisions, logger });
  return { epoch: opened.epoch, log, revisions, commits, compactor, memory, follower, vault };
}
