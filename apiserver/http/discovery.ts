import { apiVersionOf } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { pathNotFound } from './resource-handler.ts';

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const statusVerbs = ['get', 'patch', 'update'];

interface GroupVersion {
  readonly groupVersion: string;
  readonly version: string;
}

/** `GET /api`: the core group's versions. */
export function coreVersions(models: readonly ModelDescriptor[]): object {
  const versions = [...new Set(models.filter((model) => model.group === '').map((model) => model.version))];
  return { kind: 'APIVersions', versions, serverAddressByClientCIDRs: [] };
}

/** `GET /apis`: every group with its versions (the legacy form of discovery, which all clients read). */
export function groupList(models: readonly ModelDescriptor[]): object {
  const groups = [...new Set(models.map((model) => model.group))].filter((group) => group !== '').sort();
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map((group) => groupOf(models, group)) };
}

/** `GET /apis/<group>`; 404 for a group without models. */
export function apiGroup(models: readonly ModelDescriptor[], group: string): object {
  if (!models.some((model) => model.group === group)) throw pathNotFound();
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(models, group) };
}

/** `GET /apis/<group>/<version>`: its resources. */
export function resourceList(models: readonly ModelDescriptor[], group: string, version: string): object {
  const found = models.filter((model) => model.group === group && model.version === version);
  if (found.length === 0) throw pathNotFound();
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: apiVersionOf({ group, version }),
    resources: found.flatMap(resourcesOf),
  };
}

function groupOf(
  models: readonly ModelDescriptor[],
  group: string,
): { name: string; versions: GroupVersion[]; preferredVersion: GroupVersion } {
  const names = [...new Set(models.filter((model) => model.group === group).map((model) => model.version))].sort();
  const versions = names.map((version) => ({ groupVersion: apiVersionOf({ group, version }), version }));
  return { name: group, versions, preferredVersion: versions.at(-1) as GroupVersion };
}

function resourcesOf(model: ModelDescriptor): object[] {
  const { plural, singular, kind, shortNames, categories } = model;
  const namespaced = model.scope === 'Namespaced';
  return [
    {
      name: plural,
      singularName: singular,
      namespaced,
      kind,
      verbs,
      ...(shortNames.length > 0 ? { shortNames } : {}),
      ...(categories.length > 0 ? { categories } : {}),
    },
    { name: `${plural}/status`, singularName: '', namespaced, kind, verbs: statusVerbs },
  ];
}
