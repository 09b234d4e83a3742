import { formatKey } from '@homeostat/controller-runtime/api';
import { serviceAccountKind } from '../../builtin/service-account-kind.ts';
import type { Entry } from '../../index/entry.ts';
import type { ResourceTable } from '../../registry/kinds/resource-table.ts';
import type { Resource } from '../../registry/kinds/resource.ts';

/** An object to which a token is bound. It is in the namespace of the account, or in no namespace. */
export interface BoundObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface AccountName {
  readonly namespace: string;
  readonly name: string;
}

/** The public methods of {@link AccountLookup}, so that a test can pass another implementation. */
export type Accounts = Pick<AccountLookup, keyof AccountLookup>;

/** Looks up accounts, and the objects to which tokens are bound, in memory. */
export class AccountLookup {
  readonly #table: ResourceTable;
  readonly #accounts: () => Resource | undefined;

  constructor(table: ResourceTable) {
    this.#table = table;
    this.#accounts = table.getterOf(serviceAccountKind);
  }

  /** Returns the uid of an account; undefined if the account is absent, or being deleted. */
  uidOfAccount(account: AccountName): string | undefined {
    return uidOf(this.#accounts()?.cache.get(formatKey(account)));
  }

  /** Returns the uid of an object; undefined if the object is absent or being deleted, or if its kind is not served. */
  uidOfObject({ apiVersion, kind, name }: Omit<BoundObject, 'uid'>, namespace: string): string | undefined {
    const resource = this.kindOf(apiVersion, kind);
    if (resource === undefined) return undefined;
    const key = resource.model.scope === 'Namespaced' ? { namespace, name } : { name };
    return uidOf(resource.cache.get(formatKey(key)));
  }

  /** Returns the kind of an object to which a token can be bound; undefined if the kind is not served. */
  kindOf(apiVersion: string, kind: string): Resource | undefined {
    const [version = '', group = ''] = apiVersion.split('/', 2).reverse();
    return this.#table.get({ group, version, kind });
  }
}

function uidOf(entry: Entry | undefined): string | undefined {
  return entry === undefined || entry.deletion !== undefined ? undefined : entry.uid;
}
