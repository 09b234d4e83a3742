import { metadataShapeErrors } from '@homeostat/controller-runtime/api';

/** True for a value with the fields of every object: apiVersion, kind, and well-formed metadata if there is any. */
export function isEmbeddedResource(value: Readonly<Record<string, unknown>>): boolean {
  const { apiVersion, kind, metadata = {} } = value;
  const isNamed = typeof apiVersion === 'string' && apiVersion !== '' && typeof kind === 'string' && kind !== '';
  return isNamed && metadataShapeErrors(metadata).length === 0;
}
