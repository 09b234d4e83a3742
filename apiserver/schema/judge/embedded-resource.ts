import { metadataShapeErrors } from '@homeostat/controller-runtime/api';

/**
 * Returns true for a value with the fields that every object has: apiVersion, kind, and well-formed metadata if it has
 * any.
 */
export function isEmbeddedResource(value: Readonly<Record<string, unknown>>): boolean {
  const { apiVersion, kind, metadata = {} } = value;
  const isNamed = typeof apiVersion === 'string' && apiVersion !== '' && typeof kind === 'string' && kind !== '';
  return isNamed && metadataShapeErrors(metadata).length === 0;
}
