import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { Fields } from './field-type.ts';

/** The fields of metadata that managers own; the rest is the server's, or names the object. */
const ownedMetadata = ['generateName', 'labels', 'annotations', 'finalizers', 'ownerReferences'] as const;

/** The part of an object that has owners. */
export function contentOf(object: ApiObject): Fields {
  const { apiVersion: _version, kind: _kind, metadata, ...rest } = object;
  const owned: Record<string, unknown> = {};
  for (const field of ownedMetadata) if (metadata[field] !== undefined) owned[field] = metadata[field];
  return { metadata: owned, ...rest };
}
