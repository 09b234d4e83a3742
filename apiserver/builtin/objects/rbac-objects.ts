import type { ApiObject } from '@homeostat/controller-runtime/api';

/** A rule of a role. Kubernetes' `PolicyRule` (rbac.authorization.k8s.io/v1). */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  /** The names of the objects to which the rule applies; empty or absent for all names. */
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** The role that a binding grants. */
export interface RoleRef {
  readonly apiGroup?: string;
  readonly kind: string;
  readonly name: string;
}

/** A user, group or service account to whom a binding grants a role. */
export interface Subject {
  readonly kind: string;
  readonly apiGroup?: string;
  readonly name: string;
  /** The namespace of a ServiceAccount. */
  readonly namespace?: string;
}

/** Selects objects by labels. Kubernetes' `LabelSelector` (meta/v1). */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>> | null;
  readonly matchExpressions?:
    readonly { readonly key: string; readonly operator: string; readonly values?: readonly string[] | null }[] | null;
}

/** A Role or a ClusterRole. */
export interface RoleObject extends ApiObject {
  readonly rules?: readonly PolicyRule[] | null;
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly LabelSelector[] | null } | null;
}

/** A RoleBinding or a ClusterRoleBinding. */
export interface BindingObject extends ApiObject {
  readonly roleRef: RoleRef;
  readonly subjects?: readonly Subject[] | null;
}
