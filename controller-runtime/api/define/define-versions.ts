import { freezeDeep } from '../base/freeze-deep.ts';
import { descriptorOf } from './descriptor.ts';
import type { Conversion, Model, ModelDescriptor } from '../model/model.ts';
import type { ApiObject } from '../object/object.ts';

/** Another version of a kind, as {@link defineVersions} takes it. */
export interface VersionOptions<S extends ApiObject, V extends ApiObject> extends Conversion<S, V> {
  readonly model: Model<V>;
}

/**
 * A kind in several versions: objects are stored and indexed in the version `storage`, which also has the unique
 * values; each other version declares how its objects are converted to it. Register the result in place of `storage`:
 * all versions are registered and unregistered with it. Objects that are stored in one of the others can be read as
 * well; the next write stores them in the new version. The rules are checked at registration.
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
