import { createHash } from 'node:crypto';
import { apiVersionOf } from '@homeostat/controller-runtime/api';
import type { KindCache } from '../../index/kind-cache.ts';

/**
 * Returns a text that changes whenever the values of a kind's indexes may change. It depends on the kind and its
 * version, on the definitions of the indexes, and on the version of the program. Returns undefined when an index
 * function has no `definition`: the function may return other values in the next process, so the values must be
 * computed again.
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
