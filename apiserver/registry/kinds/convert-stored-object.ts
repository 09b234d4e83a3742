import { apiVersionOf } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { checkObject } from '../object/broken-object.ts';
import { convertObject } from './convert-object.ts';
import type { Convert } from './convert-object.ts';
import { decodeObject, encodeObject, isInVersion, withRevision } from '../object/object-codec.ts';
import type { Rules } from '../rules/write-request.ts';

/** Converts stored bytes to the current storage version of the kind. */
export type ConvertStored = (stored: Uint8Array, revision: number) => Uint8Array;

/**
 * Returns a function that reads stored objects, in any version that the kind ever had. Most objects have the storage
 * version, and cost only a comparison. A version that no model declares is assumed to have the same fields. The
 * function throws the errors of {@link convertObject}. When the bytes are not an object, it throws SyntaxError or
 * BrokenObjectError.
 */
export function storedObjectConverter(rules: Rules): ConvertStored {
  const apiVersion = apiVersionOf(rules.model);
  return function convertStored(stored, revision) {
    if (isInVersion(stored, apiVersion)) return stored;
    const object = decodeObject(withRevision(stored, revision));
    checkObject(object);
    return encodeObject(convertObject(object, rules, conversionOf(object, rules)));
  };
}

function conversionOf({ apiVersion }: ApiObject, { model: { versions = [] } }: Rules): Convert {
  return versions.find(({ model }) => apiVersionOf(model) === apiVersion)?.toStorage;
}
