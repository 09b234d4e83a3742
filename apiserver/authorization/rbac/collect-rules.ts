import { isConflict, isNotFound } from '@homeostat/controller-runtime/api';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import { clusterRoleKind } from '../../builtin/rbac-kinds.ts';
import type { RoleObject } from '../../builtin/objects/rbac-objects.ts';
import { WorkLoop } from '../../controllers/work-loop.ts';
import type { Revisions } from '../../registry/history/revisions.ts';
import type { ResourceTable } from '../../registry/kinds/resource-table.ts';
import { decodeObject } from '../../registry/object/object-codec.ts';
import type { Registry } from '../../registry/registry.ts';
import type { PolicyRule } from '../../builtin/objects/rbac-objects.ts';
import type { RbacAuthorizer } from '../rbac-authorizer.ts';

export interface RuleCollectorParts {
  readonly authorizer: RbacAuthorizer;
  readonly registry: Registry;
  readonly table: ResourceTable;
  readonly revisions: Revisions;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The field manager that owns collected rules, as in Kubernetes. */
const asCollector = { writer: 'service', fieldManager: 'clusterrole-aggregation-controller' } as const;

/** The only key of the work queue, because each run compares all roles. */
const all = 'all';

/**
 * Stores in each aggregated ClusterRole the rules that it collects, for people who read the object. Decisions do not
 * depend on these stored rules. Replicas that write at the same time write the same rules.
 */
export class RuleCollector {
  readonly #parts: RuleCollectorParts;
  readonly #loop: WorkLoop<typeof all>;
  #unfollow: (() => void) | undefined;

  constructor(parts: RuleCollectorParts) {
    const { clock, logger } = parts;
    this.#parts = parts;
    this.#loop = new WorkLoop({
      clock,
      idOf: (item) => item,
      handle: async () => this.#collect(),
      onFailure: (_item, err) => logger.error({ err }, 'the rules of aggregated ClusterRoles could not be written'),
    });
  }

  /**
   * Updates the stored rules of each aggregated ClusterRole whose stored rules are out of date: now, and after each
   * change of roles or bindings.
   */
  async start(): Promise<void> {
    await this.#collect();
    this.#unfollow = this.#parts.authorizer.onChange(() => this.#loop.add(all));
  }

  /** True when no comparison or write of aggregated rules is running, waiting, or due to be repeated. */
  isIdle(): boolean {
    return this.#loop.isIdle();
  }

  async stop(): Promise<void> {
    this.#unfollow?.();
    await this.#loop.stop();
  }

  async #collect(): Promise<void> {
    for (const { name, rules } of this.#parts.authorizer.outdatedRoles()) await this.#write(name, rules);
  }

  async #write(name: string, rules: readonly PolicyRule[]): Promise<void> {
    const { registry, table } = this.#parts;
    const roles = table.get(clusterRoleKind);
    const entry = roles?.cache.get(name);
    if (roles === undefined || entry === undefined) return;
    const stored: RoleObject = decodeObject(entry.bytes);
    const next = { ...stored, rules };
    try {
      await registry.update(roles, { name }, () => structuredClone(next), asCollector);
    } catch (error) {
      // Another write has changed or deleted the role. The event of that write starts a new comparison.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }
}
