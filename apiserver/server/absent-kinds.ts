import { ApiError } from '@homeostat/controller-runtime/api';
import { resourceName } from '../registry/object/resource-errors.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { SchemeManager } from '../registry/kinds/scheme-manager.ts';
import { kindNameOf, kindNamePrefix } from '../store/object-key.ts';
import type { StoredKind } from '../store/object-key.ts';
import type { Store } from '../store/store.ts';

/**
 * A function of one part of the server, such as the controller of definitions. If this part will serve the kind later,
 * returns the reason why it does not serve the kind yet, as a text for clients. Otherwise returns undefined.
 */
type AwaitedKind = (kind: StoredKind) => string | undefined;

export interface AbsentKindsParts {
  readonly store: Pick<Store, 'names'>;
  readonly schemes: Pick<SchemeManager, 'list'>;
  readonly table: Pick<ResourceTable, 'on'>;
  /**
   * Functions, one for each part of the server that may serve a kind later. Each function returns the reason why its
   * part does not serve the kind yet.
   */
  readonly awaited: readonly AwaitedKind[];
}

/**
 * Distinguishes a kind that is not served at the moment (503) from one that does not exist (404). The database has the
 * names of all kinds that were ever served. The functions in {@link AbsentKindsParts.awaited} tell which of these kinds
 * will be served again.
 */
export class AbsentKinds {
  readonly #parts: AbsentKindsParts;
  /** The names of the kinds that were ever served. */
  readonly #known = new Set<string>();

  constructor(parts: AbsentKindsParts) {
    this.#parts = parts;
    parts.table.on('opened', ({ model }) => this.#known.add(kindNameOf(model)));
  }

  /** Reads which kinds earlier servers of the database have served. Call once, before the first request. */
  async open(): Promise<void> {
    for (const name of await this.#parts.store.names(kindNamePrefix)) this.#known.add(name);
  }

  /** Returns the 503 for a kind that was served before and will be served again; undefined for any other kind. */
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

  /**
   * Returns true when the kind is registered. The request then failed for another reason: for example, it names a
   * version that the kind does not have.
   */
  #isRegistered({ group, plural }: StoredKind): boolean {
    return this.#parts.schemes
      .list()
      .some(({ descriptor }) => descriptor.group === group && descriptor.plural === plural);
  }
}
