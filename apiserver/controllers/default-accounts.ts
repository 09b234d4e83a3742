import { formatKey, isAlreadyExists, isNotFound, reasonOf } from '@homeostat/controller-runtime/api';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import { isNamespaceKind, namespaceKind } from '../builtin/namespace-kind.ts';
import { isServiceAccountKind, serviceAccountKind } from '../builtin/service-account-kind.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { Registry } from '../registry/registry.ts';
import { WorkLoop } from './work-loop.ts';

export interface DefaultAccountsParts {
  readonly registry: Registry;
  readonly table: ResourceTable;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The account of programs that name no other account, as in Kubernetes. */
const defaultAccount = 'default';

const asService = { writer: 'service', fieldManager: 'homeostat', isOwnUpkeep: true } as const;

/**
 * Creates the ServiceAccount `default` in each namespace. If the account is deleted, creates it again, unless the
 * namespace is being deleted. Several replicas may try it at the same time; only one succeeds.
 */
export class DefaultAccounts {
  readonly #parts: DefaultAccountsParts;
  readonly #queue: WorkLoop<string>;
  readonly #unsubscribe = new Map<Resource, () => void>();

  constructor(parts: DefaultAccountsParts) {
    this.#parts = parts;
    this.#queue = new WorkLoop({
      clock: parts.clock,
      idOf: (namespace) => namespace,
      handle: async (namespace) => this.ensure(namespace),
      onFailure: (namespace, err) =>
        parts.logger.error({ err, namespace }, 'a ServiceAccount "default" could not be created; trying again later'),
    });
    parts.table.on('opened', (resource) => this.#follow(resource));
    parts.table.on('closed', (resource) => this.#unfollow(resource));
  }

  /** Creates the ServiceAccount `default` in a namespace, if it is absent and the namespace is not being deleted. */
  async ensure(namespace: string): Promise<void> {
    const { registry, table } = this.#parts;
    const accounts = table.get(serviceAccountKind);
    if (accounts === undefined || !this.#isMissing(accounts, namespace)) return;
    const { kind } = serviceAccountKind;
    const body = { apiVersion: accounts.apiVersion, kind, metadata: { name: defaultAccount, namespace } };
    try {
      await registry.create(accounts, () => structuredClone(body), { ...asService, namespace });
    } catch (error) {
      // Another replica has created the account, or the namespace is being deleted: neither is an error.
      if (!isAlreadyExists(error) && reasonOf(error) !== 'Forbidden' && !isNotFound(error)) throw error;
    }
  }

  /** True when no account has to be created. */
  isIdle(): boolean {
    return this.#queue.isIdle();
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe.values()) unsubscribe();
    await this.#queue.stop();
  }

  #follow(resource: Resource): void {
    const isNamespaces = isNamespaceKind(resource.model);
    if (!isNamespaces && !isServiceAccountKind(resource.model)) return;
    const unsubscribe = resource.feed.subscribe(({ type, entry }) => {
      if (isNamespaces && type === 'ADDED') this.#queue.add(entry.name);
      const { namespace } = entry;
      if (!isNamespaces && type === 'DELETED' && entry.name === defaultAccount && namespace !== undefined)
        this.#queue.add(namespace);
    });
    this.#unsubscribe.set(resource, unsubscribe);
    // All namespaces are checked when either kind is opened: the controller finds a namespace without an account only
    // when both Namespace and ServiceAccount are open, and either can be opened last.
    const namespaces = isNamespaces ? resource : this.#parts.table.get(namespaceKind);
    for (const { name } of namespaces?.cache.entries() ?? []) this.#queue.add(name);
  }

  #unfollow(resource: Resource): void {
    this.#unsubscribe.get(resource)?.();
    this.#unsubscribe.delete(resource);
  }

  #isMissing(accounts: Resource, namespace: string): boolean {
    const entry = this.#parts.table.get(namespaceKind)?.cache.get(namespace);
    if (entry === undefined || entry.deletion !== undefined) return false;
    const key = formatKey({ namespace, name: defaultAccount });
    return accounts.cache.get(key) === undefined && !accounts.cache.broken.has(key);
  }
}
