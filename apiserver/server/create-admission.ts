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
import type { RegistryOptions, WriteGuard } from '../registry/writes/registry-options.ts';
import type { Settings } from './api-server-options.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { RequiredClaim } from '../store/store.ts';

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

/** Checks the creation of an object beyond its kind's own rules: its definition and its namespace must exist. */
export function createAdmission(table: ResourceTable): NonNullable<RegistryOptions['requiredClaims']> {
  const byDefinition = definitionAdmission(table);
  const byNamespace = namespaceAdmission(table);
  return (resource, object) => {
    const required: RequiredClaim[] = [];
    const ofDefinition = byDefinition(resource, object);
    if (ofDefinition !== undefined) required.push(ofDefinition);
    const ofNamespace = byNamespace(resource, object);
    if (ofNamespace !== undefined) required.push(ofNamespace);
    return required;
  };
}

/** Refuses writes that give the writer, or other users, more permissions than the writer has. */
export function createGuard(authorizer: RbacAuthorizer): WriteGuard {
  const guards = [grantGuard(authorizer), userGuard(authorizer)];
  return {
    covers: (resource) => guards.some((guard) => guard.covers(resource)),
    check(resource, write) {
      for (const guard of guards) if (guard.covers(resource)) guard.check(resource, write);
    },
  };
}
