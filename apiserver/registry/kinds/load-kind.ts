import { isApiError } from '@homeostat/controller-runtime/api';
import type { EntryTable } from '../../index/entry-table.ts';
import { IndexValueError } from '../../index/index-value-error.ts';
import { keyPrefixOf } from '../../store/object-key.ts';
import type { Change, NumberedKind } from '../../store/store.ts';
import { nextTurn } from '../../turns/next-turn.ts';
import { runInTurns } from '../../turns/steps.ts';
import type { RestoredKind, SnapshotKeeper } from '../kept/snapshot-keeper.ts';
import { DoesNotFit } from './does-not-fit.ts';
import type { LoadMemory } from './does-not-fit.ts';
import { PendingConversion } from './pending-conversion.ts';
import { readChecked, varyingIndexes } from './read-checked.ts';
import type { CheckedReadParts } from './read-checked.ts';
import { putEntry, storedEntry } from './stored-entry.ts';
import type { KindReader } from './stored-entry.ts';

/**
 * An object that is read from a snapshot counts as 1.25 objects. The memory limit assumes 200 bytes of heap for the
 * indexes of an object, and a start without a snapshot needs about 50 bytes more. Without this factor, a kind might fit
 * into memory only with a snapshot. After a kill there is no snapshot, so the kind would not be served.
 */
const countedObjects = 1.25;

/** The number of keys that are looked up to check a snapshot before it is used. */
const searchedNames = 100;

/** The number of bytes of changes that are applied in one turn of the event loop. */
const bytesPerTurn = 128 * 1024;

export interface LoadParts extends CheckedReadParts {
  readonly memory: LoadMemory;
  readonly snapshots?: SnapshotKeeper | undefined;
  /** The newest revision that the server's memory had reached when the kind began to open. */
  readonly current: number;
  /** The changes of the kind's objects that are in memory, in the `UnservedLog`, up to the revision {@link current}. */
  readonly changes: readonly Change[];
}

/**
 * Fills a cache with the objects of a kind: from the snapshot of the last stop and the changes since then, or else from
 * the store. Returns the generation of the store's unique indexes if their claims are known to be right; otherwise
 * undefined. Rejects with IndexBuildError when the objects do not fit into memory, or cannot be indexed or converted.
 */
export async function loadKind(reader: KindReader, parts: LoadParts): Promise<number | undefined> {
  const { memory, store } = parts;
  memory.begin();
  const unfit = await load(reader, parts).catch((error: unknown) => {
    if (error instanceof DoesNotFit) return error;
    throw error;
  });
  if (unfit instanceof DoesNotFit) throw await unfit.explained(memory, store);
  memory.end(reader.cache.size);
  return unfit;
}

async function load(reader: KindReader, parts: LoadParts): Promise<number | undefined> {
  const { snapshots, keeper, kindNumber } = parts;
  const { cache } = reader;
  const kind = numbered(reader, parts);
  const restored = await restore(reader, parts);
  if (restored !== undefined) {
    const { mark, facts } = restored;
    snapshots?.follow(cache, kind, mark);
    keeper.resume(cache, kindNumber, facts.kept);
    return parts.changes.some(({ revision }) => revision > mark.revision) ? undefined : facts.generation;
  }
  let isConverted = false;
  const convertStored: KindReader['convertStored'] = (stored, revision) => {
    const converted = reader.convertStored(stored, revision);
    isConverted ||= converted !== stored;
    return converted;
  };
  await runInTurns(cache.loadSteps(await readChecked({ cache, convertStored }, parts)));
  // A kind whose objects were converted gets no snapshot, because the next start may convert them in another way.
  if (!isConverted) snapshots?.follow(cache, kind);
  return undefined;
}

function numbered({ cache }: KindReader, { kindNumber }: LoadParts): NumberedKind {
  const { group, plural } = cache.descriptor;
  return { number: kindNumber, group, plural };
}

async function restore(reader: KindReader, parts: LoadParts): Promise<RestoredKind | undefined> {
  const { snapshots, current, random, memory, onProgress } = parts;
  const { cache } = reader;
  const kind = numbered(reader, parts);
  let count = 0;
  const onRead = (objects: number, bytesLeft: number): void => {
    count += objects;
    onProgress(count);
    DoesNotFit.check(memory, count * countedObjects, bytesLeft);
  };
  const restored = await snapshots?.read(cache, kind, { current, onRead });
  if (snapshots === undefined || restored === undefined) return undefined;
  const { table } = restored.contents;
  if (!isSearchable(table, random)) {
    snapshots.reject(cache, kind, 'objects in the snapshot cannot be found by the hashes of their names');
    return undefined;
  }
  const sampled = { length: table.size, entry: (row: number) => table.entry(row) };
  const varying = await varyingIndexes(cache, sampled, random);
  if (varying.length > 0) {
    snapshots.reject(cache, kind, `the snapshot differs from computed values in these indexes: ${varying.join(', ')}`);
    return undefined;
  }
  cache.take(restored.contents);
  const later = parts.changes.filter(({ revision }) => revision > restored.mark.revision);
  if (await areApplied(reader, later)) return restored;
  snapshots.reject(cache, kind, 'a change after the snapshot cannot be read');
  return undefined;
}

/**
 * Returns true when random entries are found by their keys. If they are not, the keys were hashed with another
 * function.
 */
function isSearchable(table: EntryTable, random: () => number): boolean {
  for (let searched = 0; searched < searchedNames; searched += 1) {
    const row = Math.floor(random() * table.size);
    if (table.find(table.entry(row).key) !== row) return false;
  }
  return true;
}

/**
 * Applies changes in their order, in several turns of the event loop. Returns false when one of the changed objects
 * cannot be indexed or converted. Then the caller reads the kind from the database instead of the snapshot. That read
 * fetches missing conversions, and reports other errors.
 */
async function areApplied(reader: KindReader, changes: readonly Change[]): Promise<boolean> {
  let bytes = 0;
  for (const change of changes) {
    if (!isApplied(reader, change)) return false;
    bytes += change.data.length;
    if (bytes < bytesPerTurn) continue;
    bytes = 0;
    await nextTurn('background');
  }
  return true;
}

function isApplied(reader: KindReader, change: Change): boolean {
  const { cache } = reader;
  try {
    if (change.op === 'delete') cache.remove(change.key.slice(keyPrefixOf(cache.descriptor).length));
    else putEntry(cache, storedEntry(reader, change));
    return true;
  } catch (error) {
    if (error instanceof IndexValueError || error instanceof PendingConversion || isApiError(error)) return false;
    throw error;
  }
}
