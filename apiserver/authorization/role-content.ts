import type { LabelSelector, PolicyRule, RoleRef, Subject } from '../builtin/objects/rbac-objects.ts';

/** A Role or a ClusterRole, as the rules of authorization need it. */
export interface RoleContent {
  readonly name: string;
  /** Absent for a ClusterRole. */
  readonly namespace?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly rules: readonly PolicyRule[];
  /** Selectors of the roles whose rules a ClusterRole collects; absent for a role that has its own rules. */
  readonly aggregates?: readonly LabelSelector[] | undefined;
}

/** A RoleBinding or a ClusterRoleBinding, as the rules of authorization need it. */
export interface BindingContent {
  readonly name: string;
  /** Absent for a ClusterRoleBinding. */
  readonly namespace?: string | undefined;
  readonly roleRef: RoleRef;
  readonly subjects: readonly Subject[];
}
