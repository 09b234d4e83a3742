import { isConflict, isNotFound } from '@homeostat/controller-runtime/api';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import { admissionPolicyKind } from '../builtin/admission-policy-kinds.ts';
import type { AdmissionPolicy } from '../builtin/objects/policy-objects.ts';
import { WorkLoop } from '../controllers/work-loop.ts';
import type { Registry } from '../registry/registry.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { decodeObject } from '../registry/object/object-codec.ts';
import { checkPolicyTypes } from './check-policy-types.ts';

export interface PolicyStatusParts {
  readonly registry: Registry;
  readonly table: ResourceTable;
  readonly clock: Clock;
  readonly logger: Logger;
}

const asService = { writer: 'service', fieldManager: 'homeostat', isOwnUpkeep: true } as const;

/** Sets the status of admission policies: the type errors of their expressions for the kinds that they name. */
export class PolicyStatusController {
  readonly #parts: PolicyStatusParts;
  readonly #queue: WorkLoop<string>;
  #unsubscribe = (): void => undefined;

  constructor(parts: PolicyStatusParts) {
    this.#parts = parts;
    this.#queue = new WorkLoop({
      clock: parts.clock,
      idOf: (name) => name,
      handle: async (name) => this.#check(name),
      onFailure: (name, err) =>
        parts.logger.error({ err, name }, 'an admission policy could not be checked; trying again later'),
    });
  }

  /** Starts to follow the policies. */
  start(): void {
    const policies = this.#parts.table.get(admissionPolicyKind);
    if (policies === undefined) return;
    this.#unsubscribe = policies.feed.subscribe(({ entry }) => this.#queue.add(entry.key));
    for (const { key } of policies.cache.entries()) this.#queue.add(key);
  }

  isIdle(): boolean {
    return this.#queue.isIdle();
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#queue.stop();
  }

  async #check(name: string): Promise<void> {
    const { table, registry } = this.#parts;
    const policies = table.get(admissionPolicyKind);
    const entry = policies?.cache.get(name);
    if (policies === undefined || entry === undefined) return;
    const { metadata, spec, status } = decodeObject<AdmissionPolicy>(entry.bytes);
    const { generation: observedGeneration, resourceVersion } = metadata;
    if (status?.observedGeneration === observedGeneration) return;
    const expressionWarnings = await checkPolicyTypes({ spec }, table);
    if (this.#queue.isStopped) return;
    // In a merge patch, null removes the errors of the previous check.
    const typeChecking = { expressionWarnings: expressionWarnings.length === 0 ? null : expressionWarnings };
    const patch = { metadata: { resourceVersion }, status: { observedGeneration, typeChecking } };
    try {
      await registry.patch(policies, { name }, { type: 'merge', patch }, { ...asService, subresource: 'status' });
    } catch (error) {
      // Another write came first. The feed reports it, and the policy is then checked again.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }
}
