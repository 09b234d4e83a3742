import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { eventKind, eventsGroupKind } from './event-kinds.ts';
import { leaseKind } from './lease-kind.ts';
import type { KindStrategy } from '../registry/rules/kind-strategy.ts';
import { isNamespaceKind, namespaceKind } from './namespace-kind.ts';
import { serviceKind } from './service-kind.ts';
import { namespaceStrategy } from './namespace-strategy.ts';

/** The kinds of Kubernetes that every server has, under Kubernetes' names: stock clients rely on them. */
export const builtinKinds: readonly ModelDescriptor[] = [
  namespaceKind,
  eventKind,
  eventsGroupKind,
  leaseKind,
  serviceKind,
];

/** What a kind adds to the rules of all kinds, if anything. */
export function strategyOf(model: ModelDescriptor): KindStrategy | undefined {
  return isNamespaceKind(model) ? namespaceStrategy : undefined;
}
