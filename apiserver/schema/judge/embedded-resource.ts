import { metadataShapeErrors } from '@homeostat/controller-runtime/api';

/** Whether a value has what every object has: apiVersion, kind, and well-formed metadata where it has some. */
export function isEmbeddedResource(value: Readonly<Record<string, unknown>>): boolean {
  const { apiVersion, kind, metadata = {} } = value;
  const isNamed = typeof apiVersion === 'string' && apiVersion !== '' && typeof kind === 'string' && kind !== '';
  return isNamed && metadataShapeErrors(metadata).length === 0;
}
