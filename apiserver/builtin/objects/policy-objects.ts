import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { LabelSelector } from './rbac-objects.ts';
import type { MatchCondition } from './webhook-objects.ts';

/** A rule of a policy. It is like a rule of a webhook, but it may also name the objects to which it applies. */
interface NamedRule {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
  readonly scope?: string;
  readonly resourceNames?: readonly string[];
}

/** The writes to which a policy, or its binding, applies. Kubernetes' `MatchResources`. */
export interface MatchResources {
  readonly resourceRules?: readonly NamedRule[];
  readonly excludeResourceRules?: readonly NamedRule[];
  readonly matchPolicy?: string;
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
}

interface PolicyValidation {
  readonly expression: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
}

interface PolicyVariable {
  readonly name: string;
  readonly expression: string;
}

interface PolicyAuditAnnotation {
  readonly key: string;
  readonly valueExpression: string;
}

/** A ValidatingAdmissionPolicy, with the defaults of its schema. */
export interface AdmissionPolicy extends ApiObject {
  readonly spec: {
    readonly paramKind?: { readonly apiVersion: string; readonly kind: string };
    readonly matchConstraints?: MatchResources;
    readonly matchConditions?: readonly MatchCondition[];
    readonly variables?: readonly PolicyVariable[];
    readonly validations?: readonly PolicyValidation[];
    readonly auditAnnotations?: readonly PolicyAuditAnnotation[];
    readonly failurePolicy: string;
  };
  readonly status?: { readonly observedGeneration?: number };
}

export interface ParamRef {
  readonly name?: string;
  readonly namespace?: string;
  readonly selector?: LabelSelector;
  readonly parameterNotFoundAction?: string;
}

/** A ValidatingAdmissionPolicyBinding, which puts a policy into effect. */
export interface AdmissionPolicyBinding extends ApiObject {
  readonly spec: {
    readonly policyName: string;
    readonly paramRef?: ParamRef;
    readonly matchResources?: MatchResources;
    readonly validationActions?: readonly string[];
  };
}
