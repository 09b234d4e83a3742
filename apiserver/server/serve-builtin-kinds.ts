import { builtinKinds } from '../builtin/builtin-kinds.ts';
import type { NamespaceController } from '../controllers/namespace-controller.ts';
import type { ResourceTable } from '../registry/resource-table.ts';
import { serviceOwner } from '../registry/scheme-manager.ts';
import type { SchemeManager } from '../registry/scheme-manager.ts';

export interface BuiltinParts {
  readonly schemes: SchemeManager;
  readonly table: ResourceTable;
  readonly namespaces: NamespaceController;
}

/** Registers the built-in kinds as the service's own; resolves when they are served, and the namespace `default` is there. */
export async function serveBuiltinKinds({ schemes, table, namespaces }: BuiltinParts): Promise<void> {
  for (const kind of builtinKinds) schemes.register(kind);
  await Promise.all(builtinKinds.map(async (kind) => table.whenReady(kind)));
  await namespaces.ensureDefault();
}

export function takeBackBuiltinKinds(schemes: SchemeManager): void {
  for (const kind of builtinKinds) if (schemes.lookup(kind) !== undefined) schemes.unregister(kind, serviceOwner);
}
