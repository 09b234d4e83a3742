import { builtinKinds } from '../builtin/builtin-kinds.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { SchemeManager } from '../registry/kinds/scheme-manager.ts';

export interface BuiltinParts {
  readonly schemes: SchemeManager;
  readonly table: ResourceTable;
}

/** Registers the built-in kinds as the service's own, before others can take their names; resolves when they are served. */
export async function openBuiltinKinds({ schemes, table }: BuiltinParts): Promise<void> {
  for (const kind of builtinKinds) schemes.register(kind);
  await Promise.all(builtinKinds.map(async (kind) => table.whenReady(kind)));
}
