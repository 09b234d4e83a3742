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
import type { RegistryOptions } from '../registry/writes/registry-options.ts';
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

/** The rules of writes that depend on other objects: definition and namespace must exist, and users grant only what they have. */
export function writeRules(
  table: ResourceTable,
  authorizer: RbacAuthorizer,
): Pick<RegistryOptions, 'creationRules' | 'guards'> {
  return {
    creationRules: [definitionAdmission(table), namespaceAdmission(table)],
    guards: [grantGuard(authorizer), userGuard(authorizer)],
  };
}
