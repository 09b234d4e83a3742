import { createHash } from 'node:crypto';
import { apiVersionOf } from '@homeostat/controller-runtime/api';
import type { KindCache } from '../../index/kind-cache.ts';

/**
 * Returns a text that differs whenever the values of a kind's indexes may differ: by the kind's version, the
 * definitions of its indexes, and the program. undefined when an index has no definition: its function may return
 * anything, so its values have to be computed.
 */
export function keptFingerprint({ descriptor, indexes }: KindCache, program: string): string | undefined {
  const definitions: (readonly unknown[])[] = [];
  for (const { spec } of indexes) {
    const { multiValued, definition } = spec.indexFunc;
    if (definition === undefined) return undefined;
    definitions.push([spec.name, spec.unique, multiValued, definition]);
  }
  const text = JSON.stringify([program, apiVersionOf(descriptor), descriptor.kind, definitions]);
  return createHash('sha256').update(text).digest('base64');
}
