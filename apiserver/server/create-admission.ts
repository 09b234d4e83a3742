import { grantGuard } from '../authorization/rbac/guard-grants.ts';
import { userGuard } from '../authorization/rbac/guard-users.ts';
import type { RbacAuthorizer } from '../authorization/rbac-authorizer.ts';
import { namespaceAdmission } from '../builtin/namespace-admission.ts';
import { definitionAdmission } from '../crd/definition-admission.ts';
import { resourceQuotaKind } from '../builtin/resource-quota-kind.ts';
import { takeOverQuota } from '../quota/quota-controller.ts';
import { QuotaLedger } from '../quota/quota-ledger.ts';
import type { QuotaLedgerParts } from '../quota/quota-ledger.ts';
import type { Registry } from '../registry/registry.ts';
import type { StoreVault } from '../registry/vault/store-vault.ts';
import type { RegistryOptions } from '../registry/writes/registry-options.ts';
import { WriteTurns } from '../registry/writes/write-turns.ts';
import type { Settings } from './api-server-options.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';

/**
 * Returns the rule that quotas add to creations. `registry` is called once writes begin, since the registry itself
 * needs the rule.
 */
export function quotaAdmission(
  settings: Pick<Settings, 'clock' | 'random' | 'uuid'>,
  { table, isShared, registry }: QuotaAdmissionParts,
): NonNullable<RegistryOptions['reserve']> {
  const getQuotas = table.getterOf(resourceQuotaKind);
  const takeOver: QuotaLedgerParts['takeOver'] = async (quota, id) =>
    takeOverQuota({ registry: registry(), table }, quota, id);
  const ledger = new QuotaLedger({ ...settings, isShared, id: settings.uuid(), takeOver });
  return (resource, object) => {
    const quotas = getQuotas();
    // Most servers have no quota.
    if (quotas === undefined || quotas.cache.size === 0) return undefined;
    return ledger.reserve(quotas, resource, object);
  };
}

interface QuotaAdmissionParts {
  readonly table: ResourceTable;
  readonly isShared: boolean;
  readonly registry: () => Registry;
}

export interface WriteRuleParts {
  readonly table: ResourceTable;
  readonly authorizer: RbacAuthorizer;
  readonly vault: StoreVault;
  /** True when other processes write to the database. */
  readonly isShared: boolean;
}

/** The rules of writes that depend on other objects: definition and namespace must exist, and users grant only what they have. */
export function writeRules(
  settings: Pick<Settings, 'clock' | 'random' | 'uuid'>,
  { table, authorizer, vault, isShared }: WriteRuleParts,
): Pick<RegistryOptions, 'creationRules' | 'guards' | 'turns'> {
  const id = settings.uuid();
  const holder = { hold: async () => vault.hold('turn/permissions', id), reach: async () => vault.reach() };
  return {
    creationRules: [definitionAdmission(table), namespaceAdmission(table)],
    guards: [grantGuard(authorizer), userGuard(authorizer)],
    turns: new WriteTurns({ ...settings, holder: isShared ? holder : undefined }),
  };
}
