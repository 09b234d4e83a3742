import { isInvalid } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Client } from '@homeostat/controller-runtime';

/** How the stored objects of a kind stand to its schema. */
export interface StoredObjects {
  readonly total: number;
  /** Those of them that were tried. */
  readonly tried: number;
  /** What a write of each that does not fit would be refused for. */
  readonly unfit: readonly string[];
}

/** More are not tried: this is an answer for people who wait. */
const maxTried = 200;

/** Tries a write of each stored object, without writing. */
export async function tryStoredObjects(client: Client, kind: ModelDescriptor): Promise<StoredObjects> {
  const { items, total } = await client.list(kind, { limit: maxTried });
  const unfit: string[] = [];
  for (const { metadata } of items) {
    const { name, namespace } = metadata;
    // Without a change nothing would be judged.
    const patch = { metadata: { annotations: { 'tried-by': 'homeostat-dev' } } };
    try {
      await client.patch(
        kind,
        name,
        { type: 'merge', patch },
        { dryRun: true, ...(namespace === undefined ? {} : { namespace }) },
      );
    } catch (error) {
      // Whoever deleted or changed it meanwhile is no concern of the schema.
      if (isInvalid(error)) unfit.push(error instanceof Error ? error.message : name);
    }
  }
  return { total, tried: items.length, unfit };
}
