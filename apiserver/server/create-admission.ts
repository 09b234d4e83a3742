import { namespaceAdmission } from '../builtin/namespace-admission.ts';
import { definitionAdmission } from '../crd/definition-admission.ts';
import type { RegistryOptions } from '../registry/registry.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { RequiredClaim } from '../store/store.ts';

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
