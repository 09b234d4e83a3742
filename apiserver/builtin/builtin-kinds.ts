import { controllerModel, externalEffectModel, runModel } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { admissionPolicyBindingKind, admissionPolicyKind } from './admission-policy-kinds.ts';
import { configMapKind, configMapStrategy } from './config-map-kind.ts';
import { eventKind, eventsGroupKind } from './event-kinds.ts';
import { leaseKind } from './lease-kind.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { SchemeManager } from '../registry/kinds/scheme-manager.ts';
import type { KindStrategy } from '../registry/rules/kind-strategy.ts';
import { isNamespaceKind, namespaceKind } from './namespace-kind.ts';
import { bindingStrategy } from './rbac-defaults.ts';
import { isBindingKind, rbacKinds } from './rbac-kinds.ts';
import { resourceQuotaKind } from './resource-quota-kind.ts';
import { serviceAccountKind } from './service-account-kind.ts';
import { serviceKind } from './service-kind.ts';
import { isUserKind, userKind } from './user-kind.ts';
import { mutatingWebhookKind, validatingWebhookKind } from './webhook-kinds.ts';
import { namespaceStrategy } from './namespace-strategy.ts';
import { secretKind, secretStrategy } from './secret-kind.ts';

/**
 * The kinds that every server has. Only the kind User is missing from this list, because its group contains the service
 * domain. Kinds that also exist in Kubernetes have the same names there, because clients of Kubernetes rely on these
 * names.
 */
export const builtinKinds: readonly ModelDescriptor[] = [
  namespaceKind,
  eventKind,
  eventsGroupKind,
  leaseKind,
  serviceKind,
  ...rbacKinds,
  serviceAccountKind,
  secretKind,
  configMapKind,
  resourceQuotaKind,
  mutatingWebhookKind,
  validatingWebhookKind,
  admissionPolicyKind,
  admissionPolicyBindingKind,
  externalEffectModel,
  runModel,
  controllerModel,
];

const nameOf = ({ group, kind }: ModelDescriptor): string => `${group}/${kind}`;

const withoutStatus: ReadonlySet<string> = new Set(
  builtinKinds
    .filter(({ components, schemaName }) => components[schemaName]?.properties?.['status'] === undefined)
    .map(nameOf),
);

/**
 * Returns false for the kinds whose objects have no path `/status`: the built-in kinds without a status, as in
 * Kubernetes.
 */
export function hasStatusPath(model: ModelDescriptor): boolean {
  return !withoutStatus.has(nameOf(model)) && !isUserKind(model);
}

/**
 * Registers the kinds as kinds of the server itself, before a plugin can register a kind of the same name. Resolves
 * when the kinds are served.
 */
export async function openBuiltinKinds({
  schemes,
  table,
  serviceDomain,
}: {
  readonly schemes: SchemeManager;
  readonly table: ResourceTable;
  /** The service domain, which is a part of the API group of the kind User: `iam.<serviceDomain>`. */
  readonly serviceDomain: string;
}): Promise<void> {
  const kinds = [...builtinKinds, userKind(serviceDomain)];
  for (const kind of kinds) schemes.register(kind);
  await Promise.all(kinds.map(async (kind) => table.whenReady(kind)));
}

/** Returns the rules that a kind has in addition to the rules of all kinds; undefined when it has none. */
export function strategyOf(model: ModelDescriptor): KindStrategy | undefined {
  if (isNamespaceKind(model)) return namespaceStrategy;
  if (isBindingKind(model)) return bindingStrategy;
  if (model.group !== '') return undefined;
  if (model.kind === secretKind.kind) return secretStrategy;
  return model.kind === configMapKind.kind ? configMapStrategy : undefined;
}
