import { isArray, isObject, textOf } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { textsIn } from '../base/object.ts';
import type { Api } from './api.ts';

/** A kind that the server serves. */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly isNamespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly subresources: readonly string[];
}

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** Reads all kinds. Each kind has the first version that the server lists for it. */
export async function readResources(api: Api): Promise<readonly Resource[]> {
  const [core, named] = await Promise.all(
    ['/api', '/apis'].map(async (path) => (await api.call(path, { accept: aggregated })).body),
  );
  return [...groupsOf(core), ...groupsOf(named)];
}

function groupsOf(document: unknown): readonly Resource[] {
  const items = isObject(document) && isArray(document.items) ? document.items.filter(isObject) : [];
  return items.flatMap((item) => {
    const group = isObject(item.metadata) ? textOf(item.metadata.name) : '';
    const versions = isArray(item.versions) ? item.versions.filter(isObject) : [];
    const seen = new Set<string>();
    return versions.flatMap(({ version, resources }) =>
      (isArray(resources) ? resources.filter(isObject) : [])
        .map((each) => resourceOf(each, group, textOf(version)))
        .filter(({ plural }) => !seen.has(plural) && seen.add(plural)),
    );
  });
}

function resourceOf(each: JsonObject, group: string, version: string): Resource {
  const subresources = isArray(each.subresources) ? each.subresources.filter(isObject) : [];
  return {
    group,
    version,
    kind: isObject(each.responseKind) ? textOf(each.responseKind.kind) : '',
    plural: textOf(each.resource),
    isNamespaced: each.scope === 'Namespaced',
    verbs: textsIn(each.verbs),
    shortNames: textsIn(each.shortNames),
    subresources: subresources.map(({ subresource }) => textOf(subresource)),
  };
}

/** The path of a kind, of its objects in a namespace, or of one object. */
export function pathOf(
  { group, version, plural }: Pick<Resource, 'group' | 'version' | 'plural'>,
  namespace = '',
  name = '',
): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${scope}/${plural}${name === '' ? '' : `/${encodeURIComponent(name)}`}`;
}

export const apiVersionOf = ({ group, version }: Resource): string => (group === '' ? version : `${group}/${version}`);

/** The group of an apiVersion; empty for the core group. */
export const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';

/** A name that identifies a kind among all others. */
export const keyOf = ({ group, plural }: Pick<Resource, 'group' | 'plural'>): string =>
  group === '' ? plural : `${plural}.${group}`;
