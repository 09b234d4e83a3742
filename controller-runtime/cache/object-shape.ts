import { freezeDeep } from '../api/index.ts';
import type { ApiObject } from '../api/index.ts';
import type { InformerOptions } from '../client/informer.ts';

/**
 * A function that makes, from a whole object of the server, the object that an informer's cache contains, for example
 * with the metadata only. The result is frozen.
 */
export type ObjectShape<T extends ApiObject> = (object: T) => T;

/**
 * Returns a function that applies the options `metadataOnly` and `transform` of an informer to an object. When the
 * transform fails, this function calls `report`, and returns the object without the transform.
 */
export function createShape<T extends ApiObject>(
  { metadataOnly = false, transform }: InformerOptions<T>,
  report: (error: unknown) => void,
): ObjectShape<T> {
  const part: ObjectShape<T> = metadataOnly ? metadataOf : (object) => object;
  if (transform === undefined) return part;
  return (object) => {
    const whole = part(object);
    try {
      return checkSame(whole, freezeDeep(transform(whole)));
    } catch (error) {
      report(error);
      return whole;
    }
  };
}

function metadataOf<T extends ApiObject>({ metadata }: T): T {
  // The cast is correct, because with `metadataOnly` the type T has only apiVersion, kind and metadata.
  return Object.freeze({ apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata }) as ApiObject as T;
}

function checkSame<T extends ApiObject>(whole: T, kept: T): T {
  for (const field of ['name', 'namespace', 'uid', 'resourceVersion'] as const) {
    if (kept.metadata[field] !== whole.metadata[field]) {
      throw new TypeError(`transform must keep metadata.${field} of ${whole.kind} ${whole.metadata.name}`);
    }
  }
  return kept;
}
