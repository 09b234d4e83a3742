import type { Client } from '@homeostat/controller-runtime';
import { defineModel } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';

/** Enough of `v1 Namespace` to write it; the server has the whole. */
const namespace: ModelDescriptor = defineModel({
  gvk: 'v1/Namespace',
  plural: 'namespaces',
  schema: { type: 'object', properties: {} },
});

/** Namespaces for the objects of a test. */
export async function createNamespaces(client: Client, names: readonly string[]): Promise<void> {
  for (const name of names) await client.create(namespace, { metadata: { name } });
}

/** How long a namespace that is declared deleted keeps what is in it. */
export const namespaceGraceMs = 5000;
