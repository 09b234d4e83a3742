import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { LabelSelector } from './rbac-objects.ts';

/** How a webhook is called. Kubernetes' `WebhookClientConfig`. */
export interface WebhookClientConfig {
  readonly url?: string;
  readonly service?: {
    readonly namespace: string;
    readonly name: string;
    readonly path?: string;
    /** Default 443. */
    readonly port?: number;
  };
  /** The trusted certificate authorities, as PEM in base64. Default: those that Node trusts. */
  readonly caBundle?: string;
}

/** A condition in CEL. A webhook or an admission policy is applied only to requests that meet all its conditions. */
export interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

/** One webhook of a configuration, with the defaults of its schema. */
export interface Webhook {
  readonly name: string;
  readonly clientConfig: WebhookClientConfig;
  readonly rules?: readonly WebhookRule[];
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly matchPolicy: 'Exact' | 'Equivalent';
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
  readonly sideEffects: 'None' | 'NoneOnDryRun';
  readonly timeoutSeconds: number;
  readonly admissionReviewVersions: readonly string[];
  readonly matchConditions?: readonly MatchCondition[];
  /** Only mutating webhooks have this field. */
  readonly reinvocationPolicy?: 'Never' | 'IfNeeded';
}

interface WebhookRule {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
  readonly scope?: string;
}

/** A MutatingWebhookConfiguration or a ValidatingWebhookConfiguration. */
export interface WebhookConfiguration extends ApiObject {
  readonly webhooks?: readonly Webhook[];
}
