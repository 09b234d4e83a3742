import type { ModelDescriptor, ModelVersion } from '../model/model.ts';

/**
 * The maximum number of versions of a kind. A larger number must be a mistake: the kinds of Kubernetes have had fewer
 * than ten.
 */
const maxVersions = 64;

// Properties that all versions of a kind share.
const sharedAttributes = ['group', 'kind', 'plural', 'singular', 'scope', 'nameFormat'] as const;

/** Returns the first broken rule about the versions of a kind; undefined when no rule is broken. */
export function brokenVersionsRule(storage: ModelDescriptor): string | undefined {
  const { versions = [] } = storage;
  if (versions.length > maxVersions) return `must be at most ${maxVersions}`;
  const models = [storage, ...versions.map(({ model }) => model)];
  const names = new Set(models.map(({ version }) => version));
  if (names.size < models.length) return 'must each have a different version';
  if (models.every(({ served }) => served === false)) return 'must include a version that is served';
  return versions.map((version) => brokenVersionRule(storage, version)).find((broken) => broken !== undefined);
}

function brokenVersionRule(storage: ModelDescriptor, version: ModelVersion): string | undefined {
  const { model, toStorage, fromStorage } = version;
  for (const attribute of sharedAttributes) {
    if (model[attribute] !== storage[attribute])
      return `${model.version} must have the ${attribute} "${storage[attribute]}", as ${storage.version} has`;
  }
  if (model.versions !== undefined) return `${model.version} must not have versions of its own`;
  if (model.indexes.length > 0)
    return `${model.version} must not declare indexes: the indexes of ${storage.version} apply to all versions`;
  const given = [toStorage, fromStorage].filter((each) => each !== undefined);
  if (given.length === 1 || given.some((each) => typeof each !== 'function'))
    return `${model.version} must have both functions toStorage and fromStorage, or neither`;
  return undefined;
}
