import type { MemoryLimit, StoredObjects } from '../../limits/memory-limit.ts';
import type { MemoryUse } from '../../limits/process-memory.ts';
import { kindNamePrefix } from '../../store/object-key.ts';
import type { Store } from '../../store/store.ts';
import { IndexBuildError } from './index-build.ts';

/** The methods of the memory limit that the server calls while it loads the objects of a kind. */
export type LoadMemory = Pick<MemoryLimit, 'begin' | 'end' | 'excess' | 'needOf' | 'collect'>;

/** The number of bytes that {@link countObjects} reads between two garbage collections of V8. */
const countedBytes = 16 * 1024 * 1024;

/** Thrown when the objects of a kind do not fit into memory. */
export class DoesNotFit extends Error {
  readonly #use: MemoryUse;
  readonly #read: number;

  private constructor(use: MemoryUse, read: number) {
    super('the stored objects do not fit into memory');
    this.#use = use;
    this.#read = read;
  }

  /** Checks with {@link MemoryLimit.excess} that the objects fit into memory. @throws DoesNotFit */
  static check(memory: Pick<LoadMemory, 'excess'>, objects: number, bytesAhead = 0): void {
    const use = memory.excess(objects, bytesAhead);
    if (use !== undefined) throw new DoesNotFit(use, objects);
  }

  /**
   * Returns the error for the user, which says how much memory all stored objects need. To count them, this method
   * reads all objects from the store. So the caller must first let go of the objects that it has in memory.
   */
  async explained(memory: LoadMemory, store: Store): Promise<IndexBuildError> {
    return new IndexBuildError(memory.needOf(await countObjects(memory, store), this.#use, this.#read));
  }
}

async function countObjects(memory: LoadMemory, store: Store): Promise<StoredObjects> {
  let [objects, bytes, uncollected] = [0, 0, countedBytes];
  // A scan of one kind needs less memory than a scan of all kinds, which sorts the keys.
  for (const name of await store.names(kindNamePrefix)) {
    for await (const rows of store.scan(await store.numberOf(name))) {
      // Without this garbage collection, V8 would let more garbage accumulate than the process has free memory.
      if (uncollected >= countedBytes) {
        memory.collect();
        uncollected = 0;
      }
      const bytesOfPage = rows.reduce((sum, { data }) => sum + data.length, 0);
      objects += rows.length;
      bytes += bytesOfPage;
      uncollected += bytesOfPage;
    }
  }
  return { objects, bytes };
}
