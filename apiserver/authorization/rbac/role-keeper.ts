import { isAlreadyExists, isConflict, isNotFound } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor, NewObject } from '@homeostat/controller-runtime/api';
import { clusterRoleBindingKind, clusterRoleKind } from '../../builtin/rbac-kinds.ts';
import type { BindingObject, RoleObject } from '../../builtin/objects/rbac-objects.ts';
import type { Resource } from '../../registry/kinds/resource.ts';
import { decodeObject } from '../../registry/object/object-codec.ts';
import { RuleCollector } from './collect-rules.ts';
import type { RuleCollectorParts } from './collect-rules.ts';
import { defaultBindings, defaultRoles } from './default-roles.ts';
import { newBinding, newRole, repairedBinding, repairedRole } from './repair-roles.ts';
import type { NamedObject } from './repair-roles.ts';

const asService = { writer: 'service', fieldManager: 'homeostat', isOwnUpkeep: true } as const;

/**
 * The maximum number of attempts to create or repair an object. An attempt fails when another replica writes it first.
 */
const maxTries = 5;

type Repair<T extends ApiObject> = (stored: T, wanted: NewObject<T>) => T | 'replace' | undefined;

/**
 * Creates the default roles and bindings when the server starts, and repairs those that are incomplete. Several
 * replicas may do so at the same time. After that, it keeps the rules of aggregated roles up to date.
 */
export class RoleKeeper {
  readonly #parts: RuleCollectorParts;
  readonly #collector: RuleCollector;

  constructor(parts: RuleCollectorParts) {
    this.#parts = parts;
    this.#collector = new RuleCollector(parts);
  }

  /** Resolves when all default roles and bindings exist. */
  async open(): Promise<void> {
    const { table } = this.#parts;
    const [roles, bindings] = await Promise.all([
      table.whenReady(clusterRoleKind),
      table.whenReady(clusterRoleBindingKind),
    ]);
    await Promise.all([
      ...defaultRoles.map(async (each) => this.#ensure<RoleObject>(roles, newRole(each), repairedRole)),
      ...defaultBindings.map(async (each) => this.#ensure<BindingObject>(bindings, newBinding(each), repairedBinding)),
    ]);
    await this.#collector.start();
  }

  /** True when no comparison or write of aggregated rules is running, waiting, or due to be repeated. */
  isIdle(): boolean {
    return this.#collector.isIdle();
  }

  stop(): Promise<void> {
    return this.#collector.stop();
  }

  async #ensure<T extends ApiObject>(resource: Resource, wanted: NamedObject<T>, repair: Repair<T>): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#ensureOnce(resource, wanted, repair);
      } catch (error) {
        if (tries === maxTries || !(isAlreadyExists(error) || isConflict(error) || isNotFound(error))) throw error;
        await this.#parts.revisions.reach(undefined);
      }
    }
  }

  async #ensureOnce<T extends ApiObject>(resource: Resource, wanted: NamedObject<T>, repair: Repair<T>): Promise<void> {
    const { registry, logger } = this.#parts;
    const { name } = wanted.metadata;
    const entry = resource.cache.get(name);
    const next = entry === undefined ? 'create' : repair(decodeObject<T>(entry.bytes), wanted);
    if (next === undefined) return;
    const { kind }: ModelDescriptor = resource.model;
    if (next === 'replace') await registry.delete(resource, { name }, asService);
    if (typeof next === 'string') await registry.create(resource, () => structuredClone(wanted), asService);
    else await registry.update(resource, { name }, () => structuredClone(next), asService);
    logger[next === 'create' ? 'debug' : 'info']({ kind, name }, 'a default role or binding was made or repaired');
  }
}
