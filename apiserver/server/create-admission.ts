import type { Metrics } from '@homeostat/controller-runtime/telemetry';
import { grantGuard } from '../authorization/rbac/guard-grants.ts';
import { userGuard } from '../authorization/rbac/guard-users.ts';
import type { RbacAuthorizer } from '../authorization/rbac-authorizer.ts';
import { admissionPolicyBindingKind } from '../builtin/admission-policy-kinds.ts';
import { mutatingWebhookKind, validatingWebhookKind } from '../builtin/webhook-kinds.ts';
import { namespaceAdmission } from '../builtin/namespace-admission.ts';
import { definitionAdmission } from '../crd/definition-admission.ts';
import { resourceQuotaKind } from '../builtin/resource-quota-kind.ts';
import { takeOverQuota } from '../quota/quota-controller.ts';
import { QuotaLedger } from '../quota/quota-ledger.ts';
import type { QuotaLedgerParts } from '../quota/quota-ledger.ts';
import type { Registry } from '../registry/registry.ts';
import type { StoreVault } from '../registry/vault/store-vault.ts';
import type { RegistryParts, WriteReview } from '../registry/writes/registry-parts.ts';
import { WriteTurns } from '../registry/writes/write-turns.ts';
import type { Settings } from './api-server-options.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { PolicyList } from '../policies/policy-list.ts';
import { PolicyReview } from '../policies/policy-review.ts';
import { NamespaceLabels } from '../matching/namespace-labels.ts';
import type { CustomResourceDefinition } from '../crd/definition.ts';
import type { ConvertTo } from '../crd/model-of-definition.ts';
import { ConversionWebhook, keepConversions } from '../webhooks/conversion-webhook.ts';
import { WebhookCaller } from '../webhooks/webhook-caller.ts';
import { WebhookClient } from '../webhooks/webhook-client.ts';
import { WebhookList } from '../webhooks/webhook-list.ts';
import { WebhookMetrics } from '../webhooks/webhook-metrics.ts';
import { WebhookPlaces } from '../webhooks/webhook-places.ts';
import { WebhookReview } from '../webhooks/webhook-review.ts';

/**
 * Returns the function that counts new objects in quotas. `registry` is a function that returns the registry, because
 * the registry is created later: it needs the function that is returned here.
 */
export function quotaAdmission(
  settings: Pick<Settings, 'clock' | 'random' | 'uuid'>,
  { table, isShared, registry }: QuotaAdmissionParts,
): NonNullable<RegistryParts['reserve']> {
  const getQuotas = table.getterOf(resourceQuotaKind);
  const takeOver: QuotaLedgerParts['takeOver'] = async (quota, id) =>
    takeOverQuota({ registry: registry(), table }, quota, id);
  const ledger = new QuotaLedger({ ...settings, isShared, id: settings.uuid(), takeOver });
  return (resource, object) => {
    const quotas = getQuotas();
    // Most servers have no quota, so this check comes first.
    if (quotas === undefined || quotas.cache.size === 0) return undefined;
    return ledger.reserve(quotas, resource, object);
  };
}

interface QuotaAdmissionParts {
  readonly table: ResourceTable;
  readonly isShared: boolean;
  readonly registry: () => Registry;
}

/** The parts that call webhooks. */
export interface Webhooks {
  readonly client: WebhookClient;
  readonly places: WebhookPlaces;
}

export function createWebhooks({
  clock,
  webhookServices,
  webhookHosts,
}: Pick<Settings, 'clock' | 'webhookServices' | 'webhookHosts'>): Webhooks {
  const places = new WebhookPlaces({ services: webhookServices, allowedHosts: webhookHosts });
  return { client: new WebhookClient({ clock }), places };
}

interface ReviewParts {
  readonly table: ResourceTable;
  readonly webhooks: Webhooks;
  readonly authorizer: RbacAuthorizer;
  readonly metrics: Metrics;
}

/** Returns the reviewer of writes, which evaluates admission policies and calls the configured webhooks. */
export function reviews(
  { clock, logger, uuid }: Pick<Settings, 'clock' | 'logger' | 'uuid'>,
  { table, webhooks, authorizer, metrics }: ReviewParts,
): WriteReview {
  const namespaces = new NamespaceLabels(table);
  const caller = new WebhookCaller({ ...webhooks, logger, metrics: new WebhookMetrics(metrics, clock) });
  const webhook = new WebhookReview({ list: new WebhookList(table), caller, authorizer, namespaces, uuid });
  const policies = new PolicyReview({ list: new PolicyList(table), table, namespaces, authorizer });
  const bindings = table.getterOf(admissionPolicyBindingKind);
  // Policies do not cover the kinds of their own group, so that a policy that denies everything can be removed. Most
  // servers have no binding, so the number of bindings is checked first.
  const hasPolicies = ({ model: { group } }: Resource): boolean =>
    (bindings()?.cache.size ?? 0) > 0 && group !== admissionPolicyBindingKind.group;
  return {
    isConfigured: table.hasObjects([mutatingWebhookKind, validatingWebhookKind, admissionPolicyBindingKind]),
    covers: (resource) => webhook.covers(resource) || hasPolicies(resource),
    change: async (object, write) => webhook.change(object, write),
    async check(object, write) {
      if (hasPolicies(write.resource)) await policies.check(object, write);
      await webhook.check(object, write);
    },
  };
}

/**
 * Returns a function that returns the conversion of a definition, or undefined when no webhook converts the objects of
 * the definition.
 */
export function conversionWebhooks(
  { uuid }: Pick<Settings, 'uuid'>,
  webhooks: Webhooks,
): (definition: CustomResourceDefinition) => ConvertTo | undefined {
  const kept = keepConversions();
  return ({ spec: { conversion, names } }) => {
    const clientConfig = conversion?.webhook?.clientConfig;
    if (conversion?.strategy !== 'Webhook' || clientConfig === undefined) return undefined;
    const reviewVersions = conversion.webhook?.conversionReviewVersions ?? [];
    const webhook = new ConversionWebhook({ ...webhooks, kind: names.kind, clientConfig, reviewVersions, uuid, kept });
    return (object, apiVersion) => webhook.convert(object, apiVersion);
  };
}

export interface WriteRuleParts {
  readonly table: ResourceTable;
  readonly authorizer: RbacAuthorizer;
  readonly vault: StoreVault;
  /** True when other processes write to the database. */
  readonly isShared: boolean;
}

/**
 * Returns the rules that compare a write with other objects. The definition and the namespace of a new object must
 * exist. {@link grantGuard} and {@link userGuard} limit the permissions that a user may grant by roles, bindings and
 * the groups of Users.
 */
export function writeRules(
  settings: Pick<Settings, 'clock' | 'random' | 'uuid'>,
  { table, authorizer, vault, isShared }: WriteRuleParts,
): Pick<RegistryParts, 'creationRules' | 'guards' | 'turns'> {
  const id = settings.uuid();
  const holder = { hold: async () => vault.hold('turn/permissions', id), reach: async () => vault.reach() };
  return {
    creationRules: [definitionAdmission(table), namespaceAdmission(table)],
    guards: [grantGuard(authorizer), userGuard(authorizer)],
    turns: new WriteTurns({ ...settings, holder: isShared ? holder : undefined }),
  };
}
