import { apiVersionOf } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { compareVersions } from './version-priority.ts';

/** Returns all versions of a kind: the given storage version, and the others. */
export function versionsOfKind(storage: ModelDescriptor): readonly ModelDescriptor[] {
  return [storage, ...(storage.versions ?? []).map(({ model }) => model)];
}

/** Returns the versions that clients may request. */
function servedVersionsOf(storage: ModelDescriptor): readonly ModelDescriptor[] {
  return versionsOfKind(storage).filter(({ served }) => served !== false);
}

/**
 * Returns the warning that each response in a deprecated version has, as in Kubernetes; undefined for other versions.
 */
export function deprecationOf(model: ModelDescriptor, storage: ModelDescriptor): string | undefined {
  const { deprecated = false, kind, group, version } = model;
  if (deprecated === false || typeof deprecated === 'string') return deprecated || undefined;
  const warning = `${apiVersionOf(model)} ${kind} is deprecated`;
  const [better] = servedVersionsOf(storage)
    .filter((other) => (other.deprecated ?? false) === false && compareVersions(other.version, version) < 0)
    .map((other) => other.version)
    .sort(compareVersions);
  return better === undefined ? warning : `${warning}; use ${apiVersionOf({ group, version: better })} ${kind}`;
}
