import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { Fields } from './field-type.ts';

/** The fields of metadata that managers can own; the others belong to the server, or name the object. */
const ownedMetadata = ['generateName', 'labels', 'annotations', 'finalizers', 'ownerReferences'] as const;

/** Returns the part of an object whose fields have owners. */
export function contentOf(object: ApiObject): Fields {
  const { apiVersion: _version, kind: _kind, metadata, ...rest } = object;
  const owned: Record<string, unknown> = {};
  for (const field of ownedMetadata) if (metadata[field] !== undefined) owned[field] = metadata[field];
  return { metadata: owned, ...rest };
}
