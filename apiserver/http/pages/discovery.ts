import { apiVersionOf, compareCodePoints } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { pathNotFound } from '../request/path-errors.ts';
import { subresourcesOf, verbsOf } from '../request/verbs.ts';
import { compareVersions } from '../../registry/kinds/version-priority.ts';

type Models = readonly ModelDescriptor[];

/** Returns the response to `GET /api`: the versions of the core group. */
export function coreVersions(models: Models): object {
  return { kind: 'APIVersions', versions: versionsOf(models, ''), serverAddressByClientCIDRs: [] };
}

/**
 * Returns the response to `GET /apis`: every group with its versions, in the legacy form of discovery, which all
 * clients can read.
 */
export function groupList(models: Models): object {
  const groups = groupNames(models).map((group) => groupOf(models, group));
  return { kind: 'APIGroupList', apiVersion: 'v1', groups };
}

/** Returns the response to `GET /apis/<group>`. Throws a 404 for a group without models. */
export function apiGroup(models: Models, group: string): object {
  if (group === '' || versionsOf(models, group).length === 0) throw pathNotFound();
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(models, group) };
}

/** Returns the response to `GET /apis/<group>/<version>` or `/api/<version>`: the resources of the group version. */
export function resourceList(models: Models, group: string, version: string): object {
  const found = modelsOf(models, group, version);
  if (found.length === 0) throw pathNotFound();
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: apiVersionOf({ group, version }),
    resources: found.flatMap(resourcesOf),
  };
}

/** Returns the paths that exist because of the models, for the list at `/`. */
export function groupPaths(models: Models): readonly string[] {
  const core = versionsOf(models, '').map((version) => `/api/${version}`);
  const named = groupNames(models).flatMap((group) => [
    `/apis/${group}`,
    ...versionsOf(models, group).map((version) => `/apis/${group}/${version}`),
  ]);
  return [...core, ...named];
}

/** Returns the names of the groups that `/apis` lists, sorted. */
export function groupNames(models: Models): readonly string[] {
  const names = models.map(({ group }) => group).filter((group) => group !== '');
  return [...new Set(names)].sort(compareCodePoints);
}

/** Returns the versions of a group, the preferred one first. */
export function versionsOf(models: Models, group: string): readonly string[] {
  const versions = models.filter((model) => model.group === group).map(({ version }) => version);
  return [...new Set(versions)].sort(compareVersions);
}

/**
 * Returns the models of a group version. They are sorted, so that the documents do not depend on the order of
 * registration.
 */
export function modelsOf(models: Models, group: string, version: string): Models {
  return models
    .filter((model) => model.group === group && model.version === version)
    .sort((a, b) => compareCodePoints(a.plural, b.plural));
}

function groupOf(models: Models, group: string): object {
  const versions = versionsOf(models, group).map((version) => ({
    groupVersion: apiVersionOf({ group, version }),
    version,
  }));
  return { name: group, versions, preferredVersion: versions[0] };
}

/** Returns the short names and the categories of a model, if it has any. */
export function nicknamesOf({ shortNames, categories }: ModelDescriptor): object {
  return {
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
  };
}

function resourcesOf(model: ModelDescriptor): object[] {
  const { plural, singular, kind } = model;
  const namespaced = model.scope === 'Namespaced';
  return [
    { name: plural, singularName: singular, namespaced, kind, verbs: verbsOf(model), ...nicknamesOf(model) },
    ...subresourcesOf(model).map(({ name, verbs, responseKind = { kind } }) => ({
      name: `${plural}/${name}`,
      singularName: '',
      namespaced,
      ...responseKind,
      verbs,
    })),
  ];
}
