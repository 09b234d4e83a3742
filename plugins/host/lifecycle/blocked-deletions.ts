import type { ApiServer } from '@homeostat/apiserver';
import type { Client, ControllerDefinition } from '@homeostat/controller-runtime';
import { apiVersionOf, formatKey, keyOf } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';

/** The objects of one kind that are being deleted but still exist because of a plugin's finalizer. */
export interface BlockedKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly finalizer: string;
  readonly count: number;
  /** The keys of the objects that still exist: at most ten, the first ones by name. */
  readonly names: readonly string[];
}

interface Finalizer {
  readonly model: ModelDescriptor;
  readonly finalizer: string;
}

const maxNames = 10;
const pageSize = 500;

/** Counts the objects whose deletion waits for finalizers of a plugin's controllers while the plugin does not run. */
export class BlockedDeletions {
  readonly #finalizers: Finalizer[] = [];
  readonly #counted = new Map<Finalizer, BlockedKind>();

  /**
   * Adds the finalizer of a controller that has a `cleanup` function: {@link count} then counts the objects whose
   * deletion waits for this finalizer. Adds nothing for other controllers. A Reconciler has no `cleanup`, because it
   * handles its finalizers itself, so objects that wait for them are not counted.
   */
  add({ model, finalizer, cleanup }: ControllerDefinition): void {
    if (cleanup !== undefined) this.#finalizers.push({ model, finalizer });
  }

  /** The kinds with blocked deletions, as of the last count. */
  get kinds(): readonly BlockedKind[] {
    return [...this.#counted.values()].filter(({ count }) => count > 0);
  }

  /**
   * Counts the blocked deletions. A kind that is not served keeps its last count, since its objects cannot change.
   * Returns true if at least one of the kinds is served.
   */
  async count(client: Client, server: Pick<ApiServer, 'schemeManager' | 'indexingProgress'>): Promise<boolean> {
    const served = this.#finalizers.filter(
      ({ model }) => server.schemeManager.lookup(model) !== undefined && server.indexingProgress(model) === undefined,
    );
    for (const each of served) this.#counted.set(each, await countBlocked(client, each));
    return served.length > 0;
  }
}

async function countBlocked(client: Client, { model, finalizer }: Finalizer): Promise<BlockedKind> {
  const names: string[] = [];
  let count = 0;
  let next: string | undefined;
  do {
    const options = { fieldSelector: 'metadata.deletionTimestamp', sort: 'metadata.name,asc', limit: pageSize };
    const page = await client.list<ApiObject>(model, next === undefined ? options : { ...options, continue: next });
    const held = page.items.filter(({ metadata }) => metadata.finalizers?.includes(finalizer) === true);
    count += held.length;
    names.push(...held.slice(0, maxNames - names.length).map((object) => formatKey(keyOf(object))));
    next = page.metadata.continue === '' ? undefined : page.metadata.continue;
  } while (next !== undefined);
  return { apiVersion: apiVersionOf(model), kind: model.kind, finalizer, count, names };
}
