import type { Entry } from '../../index/entry.ts';
import { CompactedError } from '../../store/store.ts';
import type { Change, Row, Store } from '../../store/store.ts';
import { nextTurn } from '../../turns/next-turn.ts';
import { runInTurns } from '../../turns/steps.ts';
import type { Resource } from '../kinds/resource.ts';
import type { ResourceTable } from '../kinds/resource-table.ts';
import type { Revisions } from '../history/revisions.ts';
import { fetchConversions } from '../kinds/fetch-conversions.ts';
import { hasUnconverted, lenientEntry, lenientEntrySteps } from '../kinds/stored-entry.ts';
import type { UnservedLog } from '../kinds/unserved-log.ts';
import { severalStepsBytes } from '../object/decode-steps.ts';
import { leapSteps } from './leap.ts';
import type { Leap } from './leap.ts';

const changesPerPage = 1000;

/** A kind that is kept in memory without a {@link Resource}. */
export interface FollowedKind {
  readonly kindNumber: number;
  /** Applies a change of the kind to memory. It is called in the order of the change log. */
  readonly apply: (change: Change) => void;
  /**
   * Replaces all rows in memory by `rows`, a map from keys to rows. It is called when the log no longer has the changes
   * that led to these rows.
   */
  readonly replace: (rows: ReadonlyMap<string, Row>) => void;
}

export interface RereadParts {
  readonly store: Store;
  readonly table: () => ResourceTable | undefined;
  readonly log: UnservedLog;
  readonly hidden: FollowedKind;
  readonly revisions: Revisions;
  readonly isStopped: () => boolean;
}

/** The maximum number of objects that are read in one turn of the event loop. The next constant limits their bytes. */
const readPerTurn = 200;
const bytesPerTurn = 128 * 1024;

/** The objects of the served kinds, by key, at one revision. */
interface State {
  readonly revision: number;
  readonly entries: ReadonlyMap<Resource, ReadonlyMap<string, Entry>>;
  /** The rows of the kind of the vault, which no path serves. */
  readonly rows: ReadonlyMap<string, Row>;
}

/**
 * Updates memory when the change log no longer has all changes that memory lacks: reads all objects again, and applies
 * the new state of all kinds in one turn of the event loop. Watchers lose their position (410), and subscribers in this
 * process receive the differences.
 */
export async function reread(parts: RereadParts): Promise<void> {
  const { table, log, hidden, revisions } = parts;
  while (!parts.isStopped()) {
    const state = await readState(parts);
    // While the state was read, writes of this process may have advanced memory to the revision of the state or a later
    // one. Then the state is not needed.
    if (state !== undefined && state.revision <= revisions.current) return;
    if (state === undefined) continue;
    const leaps = await leapsTo(state);
    // If a kind was opened or changed meanwhile, everything is read again: otherwise this kind would stay at an old
    // revision.
    const served = (table()?.served() ?? []).map((resource) => leaps.get(resource));
    if (!served.every((leap) => leap?.isCurrent() === true)) continue;
    log.lose(state.revision);
    hidden.replace(state.rows);
    const told = served.flatMap((leap) => (leap === undefined ? [] : [leap.take()]));
    revisions.advance(state.revision);
    await Promise.all(told);
    for (const resource of leaps.keys()) if (hasUnconverted(resource.cache)) table()?.emit('unconverted', resource);
    return;
  }
}

async function leapsTo({ revision, entries }: State): Promise<ReadonlyMap<Resource, Leap>> {
  const leaps = new Map<Resource, Leap>();
  for (const [resource, each] of entries)
    leaps.set(resource, await runInTurns(leapSteps(resource, { revision, entries: each })));
  return leaps;
}

/**
 * Reads all objects, and the changes since the read began; undefined when the changes were compacted before they could
 * be read.
 */
async function readState({ store, table, hidden }: RereadParts): Promise<State | undefined> {
  const from = await store.currentRevision();
  const byNumber = new Map<number, Resource>();
  const entries = new Map<Resource, Map<string, Entry>>();
  for (const resource of table()?.served() ?? []) {
    byNumber.set(resource.kindNumber, resource);
    entries.set(resource, await scan(resource, store));
  }
  const rows = new Map<string, Row>();
  for await (const page of store.scan(hidden.kindNumber)) for (const row of page) rows.set(row.key, row);
  const revision = await store.currentRevision();
  try {
    let replayed = 0;
    for await (const change of changesBetween(store, from, revision)) {
      replayed += 1;
      if (replayed % readPerTurn === 0) await nextTurn();
      if (change.kind === hidden.kindNumber) replayRow(rows, change);
      const resource = byNumber.get(change.kind);
      if (resource !== undefined) replay(resource, entries.get(resource) ?? new Map<string, Entry>(), change);
    }
  } catch (error) {
    if (error instanceof CompactedError) return undefined;
    throw error;
  }
  return { revision, entries, rows };
}

async function scan(resource: Resource, store: Store): Promise<Map<string, Entry>> {
  const entries = new Map<string, Entry>();
  let canConvert = resource.convertsByWebhook;
  for await (const rows of store.scan(resource.kindNumber)) {
    if (canConvert) await fetchConversions(resource, rows).catch(() => (canConvert = false));
    let bytes = 0;
    for (const row of rows) {
      const isLarge = row.data.length > severalStepsBytes;
      const entry = isLarge ? await runInTurns(lenientEntrySteps(resource, row)) : lenientEntry(resource, row);
      entries.set(entry.key, entry);
      bytes += row.data.length;
      if (bytes < bytesPerTurn && entries.size % readPerTurn !== 0) continue;
      bytes = 0;
      await nextTurn();
    }
  }
  return entries;
}

async function* changesBetween(store: Store, after: number, upTo: number): AsyncGenerator<Change, void, undefined> {
  for (let from = after; ;) {
    const page = await store.changes(from, changesPerPage);
    for (const change of page) {
      if (change.revision > upTo) return;
      yield change;
      from = change.revision;
    }
    if (page.length < changesPerPage) return;
  }
}

/** Applies a change to the entries that were read, unless the entry of its object was read after the change. */
function replay(resource: Resource, entries: Map<string, Entry>, change: Change): void {
  const key = change.key.slice(resource.keyPrefix.length);
  if ((entries.get(key)?.revision ?? 0) >= change.revision) return;
  if (change.op === 'delete') entries.delete(key);
  else entries.set(key, lenientEntry(resource, change));
}

function replayRow(rows: Map<string, Row>, change: Change): void {
  if ((rows.get(change.key)?.revision ?? 0) >= change.revision) return;
  if (change.op === 'delete') rows.delete(change.key);
  else rows.set(change.key, change);
}
