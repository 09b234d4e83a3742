import type { Client } from '@homeostat/controller-runtime';
import { defineModel } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';

/** The part of `v1 Namespace` that a write needs; the server has all of it. */
const namespace: ModelDescriptor = defineModel({
  gvk: 'v1/Namespace',
  plural: 'namespaces',
  schema: { type: 'object', properties: {} },
});

/** Namespaces for the objects of a test. */
export async function createNamespaces(client: Client, names: readonly string[]): Promise<void> {
  for (const name of names) await client.create(namespace, { metadata: { name } });
}

/** The time for which a deleted namespace keeps its objects. */
export const namespaceGraceMs = 5000;
