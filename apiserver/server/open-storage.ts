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
  /** Returns the table of the served kinds; undefined before it exists. */
  readonly table: () => ResourceTable | undefined;
}

/** While the start reads the change log, memory is measured again after this many bytes of changes. */
const measuredBytes = 4 * 1024 * 1024;

/** The open store, and the parts that keep memory equal to the store. */
export interface OpenedStorage {
  readonly epoch: string;
  readonly log: UnservedLog;
  readonly revisions: Revisions;
  readonly commits: GroupCommit;
  readonly compactor: Compactor;
  readonly memory: MemoryLimit;
  /** Reads the changes of other processes; undefined when no other process writes to the database. */
  readonly follower: Follower | undefined;
  readonly vault: StoreVault;
}

/** Returns the revision of the last commit of any process. Reports to `health` whether the read succeeded. */
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

/** Opens the store, and reads the vault and the newest changes of the change log. */
export async function openStorage(parts: StorageParts): Promise<OpenedStorage> {
  const { store, clock, logger, retention, health } = parts;
  // The memory of the process changes in real time, even when a test advances another clock by days, so it is measured
  // with the system's clock.
  const measured = { meter: processMemory(parts.processes), clock: systemClock };
  const memory = new MemoryLimit({ ...measured, logger, onFull: () => void compactor.compact() });
  const opened = await store.open();
  await refuseUnfinishedImport(store);
  // The ages of the changes in the log are unknown after a restart, so only their number decides: the changes of the
  // last `minChanges` revisions are kept for watches.
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
  let unmeasured = 0;
  await log.read(store, (change) => {
    if (change.kind === vault.kindNumber) vault.apply(change);
    compactor.record(change.revision, change.data.length);
    unmeasured += change.data.length;
    if (unmeasured < measuredBytes) return;
    memory.collectIfFull();
    unmeasured = 0;
  });
  const latest = (): Promise<number> => latestRevision(store, health);
  const shared = store.isShared ? { latest, onWanted: (revision: number) => follower?.hear(revision) } : {};
  const start = Math.max(log.revision, opened.revision);
  const revisions = new Revisions({ clock, start, history: compactor, ...shared });
  const commits: GroupCommit = new GroupCommit(measureCommits(store, parts), {
    onError: (err) => logger.error({ err }, 'could not update memory with a committed change'),
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
