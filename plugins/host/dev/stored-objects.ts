import { isInvalid } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Client } from '@homeostat/controller-runtime';

/** The result of checking the stored objects of a kind against its schema. */
export interface StoredObjects {
  readonly total: number;
  /** The number of objects that were checked. */
  readonly tried: number;
  /** The error messages for the objects that violate the schema. */
  readonly unfit: readonly string[];
}

/** The maximum number of stored objects that are checked against the schema. A person waits for the result. */
const maxTried = 200;

/**
 * Tries to create each stored object again, as a dry run. The server refuses a valid object only because it exists
 * already, and an invalid one because of its violations. A dry run of an update would not work, because the server does
 * not validate an update that changes only metadata.
 */
export async function tryStoredObjects(client: Client, kind: ModelDescriptor): Promise<StoredObjects> {
  const { items, total } = await client.list(kind, { limit: maxTried });
  const unfit: string[] = [];
  for (const { metadata, ...content } of items) {
    const { resourceVersion: _revision, managedFields: _managedFields, ...rest } = metadata;
    try {
      await client.create(kind, { ...content, metadata: rest }, { dryRun: true });
    } catch (error) {
      if (isInvalid(error)) unfit.push(error instanceof Error ? error.message : metadata.name);
    }
  }
  return { total, tried: items.length, unfit };
}
