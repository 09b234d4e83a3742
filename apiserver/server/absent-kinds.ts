import { ApiError } from '@homeostat/controller-runtime/api';
import { resourceName } from '../registry/object/resource-errors.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { SchemeManager } from '../registry/kinds/scheme-manager.ts';
import { kindNameOf, kindNamePrefix } from '../store/object-key.ts';
import type { StoredKind } from '../store/object-key.ts';
import type { Store } from '../store/store.ts';

/**
 * Returns the reason why a kind is not served at the moment, in words for clients; undefined when nothing will serve
 * it.
 */
type AwaitedKind = (kind: StoredKind) => string | undefined;

export interface AbsentKindsParts {
  readonly store: Pick<Store, 'names'>;
  readonly schemes: Pick<SchemeManager, 'list'>;
  readonly table: Pick<ResourceTable, 'on'>;
  /** The parts that may serve a kind again. */
  readonly awaited: readonly AwaitedKind[];
}

/**
 * Distinguishes a kind that is not served at the moment (503) from one that does not exist (404). The database has the
 * kinds that were ever served; the plugins and definitions know whether they will serve one of them again.
 */
export class AbsentKinds {
  readonly #parts: AbsentKindsParts;
  /** Names of the kinds that were ever served. */
  readonly #known = new Set<string>();

  constructor(parts: AbsentKindsParts) {
    this.#parts = parts;
    parts.table.on('opened', ({ model }) => this.#known.add(kindNameOf(model)));
  }

  /** Reads which kinds earlier servers of the database have served. Call once, before the first request. */
  async open(): Promise<void> {
    for (const name of await this.#parts.store.names(kindNamePrefix)) this.#known.add(name);
  }

  /** The 503 of a kind that was served before and will be again; undefined for any other. */
  refusalOf({ group, plural }: StoredKind): ApiError | undefined {
    const kind = { group, plural };
    if (!this.#known.has(kindNameOf(kind)) || this.#isRegistered(kind)) return undefined;
    for (const awaited of this.#parts.awaited) {
      const reason = awaited(kind);
      if (reason === undefined) continue;
      const message = `${resourceName(kind)} is not served at the moment: ${reason}`;
      return new ApiError('ServiceUnavailable', message, { retryAfterSeconds: 1 });
    }
    return undefined;
  }

  /** The kind may be served in another version, for example. */
  #isRegistered({ group, plural }: StoredKind): boolean {
    return this.#parts.schemes
      .list()
      .some(({ descriptor }) => descriptor.group === group && descriptor.plural === plural);
  }
}
