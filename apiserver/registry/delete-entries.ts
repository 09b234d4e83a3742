import { isNotFound, reasonOf } from '@homeostat/controller-runtime/api';
import type { ObjectKey } from '@homeostat/controller-runtime/api';
import type { Entry } from '../index/entry.ts';
import type { Registry } from './registry.ts';
import type { WriteOptions } from './writes/write-options.ts';
import type { Resource } from './kinds/resource.ts';

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
 * deletion does not stop the others. Rejects with the first failure after all deletions. A ServiceUnavailable error
 * makes it reject immediately.
 */
export async function deleteEntries(
  registry: Registry,
  { resource, entries }: { readonly resource: Resource; readonly entries: readonly Entry[] },
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
  for (let from = 0; from < entries.length && !isStopped(); from += atOnce) {
    await Promise.all(entries.slice(from, from + atOnce).map(deleteOne));
  }
  if (failures.length > 0) throw failures[0];
}

function keyOfEntry({ name, namespace }: Entry): ObjectKey {
  return namespace === undefined ? { name } : { name, namespace };
}
