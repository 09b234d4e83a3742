import { isNotFound, reasonOf } from '@homeostat/controller-runtime/api';
import type { ObjectKey } from '@homeostat/controller-runtime/api';
import type { Entry } from '../index/entry.ts';
import { nextTurn } from '../turns/next-turn.ts';
import type { Registry } from './registry.ts';
import type { WriteOptions } from './writes/write-options.ts';
import type { Resource } from './kinds/resource.ts';

/** The number of entries that are read before the next turn of the event loop. */
const readPerTurn = 1000;

export interface EntriesToDelete {
  readonly resource: Resource;
  /** The entries as they were at one time; a list that later changes do not affect. */
  readonly entries: Iterable<Entry>;
  /** Returns true for the entries that are deleted. Default: all. */
  readonly isWanted?: (entry: Entry) => boolean;
}

export interface DeleteEntriesParts {
  /**
   * The maximum number of concurrent deletions. The queue of writes is bounded, and must have room for other writes.
   */
  readonly atOnce: number;
  readonly optionsOf: (entry: Entry) => WriteOptions;
  /** When this returns true, no further deletions start. Default: never. */
  readonly isStopped?: () => boolean;
}

/**
 * Deletes objects of one kind, `atOnce` at a time. An object that is already gone is not a failure, and a refused
 * deletion does not stop the others: after all deletions have ended, the function rejects with the first failure. When
 * a deletion fails with ServiceUnavailable, the function rejects immediately.
 */
export async function deleteEntries(
  registry: Registry,
  { resource, entries, isWanted = () => true }: EntriesToDelete,
  { atOnce, optionsOf, isStopped = () => false }: DeleteEntriesParts,
): Promise<void> {
  const failures: unknown[] = [];
  const deleteOne = async (entry: Entry): Promise<void> => {
    try {
      await registry.delete(resource, keyOfEntry(entry), optionsOf(entry));
    } catch (error) {
      if (isNotFound(error)) return;
      if (reasonOf(error) === 'ServiceUnavailable') throw error;
      failures.push(error);
    }
  };
  let read = 0;
  let batch: Entry[] = [];
  for (const entry of entries) {
    if (isStopped()) break;
    read += 1;
    if (read % readPerTurn === 0) await nextTurn('background');
    if (!isWanted(entry)) continue;
    batch.push(entry);
    if (batch.length < atOnce) continue;
    await Promise.all(batch.map(deleteOne));
    batch = [];
  }
  if (!isStopped()) await Promise.all(batch.map(deleteOne));
  if (failures.length > 0) throw failures[0];
}

function keyOfEntry({ name, namespace }: Entry): ObjectKey {
  return namespace === undefined ? { name } : { name, namespace };
}
