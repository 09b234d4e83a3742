import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { eventKind, eventsGroupKind } from './event-kinds.ts';
import { leaseKind } from './lease-kind.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { SchemeManager } from '../registry/kinds/scheme-manager.ts';
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

/** Registers the kinds as the service's own, before others can take their names; resolves when they are served. */
export async function openBuiltinKinds({
  schemes,
  table,
}: {
  readonly schemes: SchemeManager;
  readonly table: ResourceTable;
}): Promise<void> {
  for (const kind of builtinKinds) schemes.register(kind);
  await Promise.all(builtinKinds.map(async (kind) => table.whenReady(kind)));
}

/** Returns the rules that a kind adds to those of all kinds, if any. */
export function strategyOf(model: ModelDescriptor): KindStrategy | undefined {
  return isNamespaceKind(model) ? namespaceStrategy : undefined;
}
