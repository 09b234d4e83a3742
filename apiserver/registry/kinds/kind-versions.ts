import { apiVersionOf } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { compareVersions } from './version-priority.ts';

/** All versions of a kind: the one that objects are stored in, which is given, and the others. */
export function versionsOfKind(storage: ModelDescriptor): readonly ModelDescriptor[] {
  return [storage, ...(storage.versions ?? []).map(({ model }) => model)];
}

/** Those that clients may ask for. */
function servedVersionsOf(storage: ModelDescriptor): readonly ModelDescriptor[] {
  return versionsOfKind(storage).filter(({ served }) => served !== false);
}

/** What each answer in a version warns of, as Kubernetes does; undefined for one that is not deprecated. */
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
