import { freezeDeep } from '../base/freeze-deep.ts';
import { descriptorOf } from './descriptor.ts';
import type { Conversion, Model, ModelDescriptor } from '../model/model.ts';
import type { ApiObject } from '../object/object.ts';

/** A version of a kind other than its storage version: an argument of {@link defineVersions}. */
export interface VersionOptions<S extends ApiObject, V extends ApiObject> extends Conversion<S, V> {
  readonly model: Model<V>;
}

/**
 * Declares a kind in several versions. Objects are stored and indexed in the version `storage`, and only this version
 * declares indexes. Each other version declares how its objects are converted to the storage version and back; without
 * functions, a conversion only changes apiVersion, sets the defaults of the target version's schema, and removes the
 * fields that this schema does not know. Register the result in place of `storage`: all versions are registered and
 * unregistered together. An object that is stored in another version can still be read; its next write stores it in the
 * storage version. Registration checks that the versions fit each other.
 */
export function defineVersions<S extends ApiObject, const V extends readonly ApiObject[]>(
  storage: Model<S>,
  versions: { readonly [I in keyof V]: VersionOptions<S, V[I]> },
): ModelDescriptor<S> {
  const others: readonly VersionOptions<S, ApiObject>[] = versions;
  return freezeDeep({
    ...descriptorOf(storage),
    versions: others.map(({ model, ...conversion }) => ({ ...conversion, model: descriptorOf(model) })),
  });
}
