import type { Client } from '@homeostat/controller-runtime';
import { defineModel } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';

/** A model of `v1 Namespace` with only the fields that a write needs. */
const namespace: ModelDescriptor = defineModel({
  gvk: 'v1/Namespace',
  plural: 'namespaces',
  schema: { type: 'object', properties: {} },
});

/** Creates namespaces for the objects of a test. */
export async function createNamespaces(client: Client, names: readonly string[]): Promise<void> {
  for (const name of names) await client.create(namespace, { metadata: { name } });
}

/** The time for which a namespace keeps its objects after its deletion. */
export const namespaceGraceMs = 5000;
