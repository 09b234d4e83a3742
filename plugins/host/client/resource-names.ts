import { isJsonObject, nearestKey } from '@homeostat/controller-runtime/api';
import type { JsonObject } from '@homeostat/controller-runtime/api';
import { CommandError } from './command-error.ts';
import type { ObjectServer } from './object-server.ts';

/** A kind, in one version, as discovery describes it. */
export interface ServedResource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly isNamespaced: boolean;
  readonly verbs: readonly string[];
  /** True for the preferred version of the group, which clients use by default. */
  readonly isPreferred: boolean;
}

const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** Finds the kinds that a server serves, by all names that kubectl accepts. */
export class ResourceNames {
  readonly all: readonly ServedResource[];

  constructor(all: readonly ServedResource[]) {
    this.all = all;
  }

  static async read(server: ObjectServer): Promise<ResourceNames> {
    const [core, groups] = await Promise.all(
      ['/api', '/apis'].map(async (path) => server.send('GET', path, { headers: { accept } })),
    );
    return new ResourceNames([...resourcesIn(core), ...resourcesIn(groups)]);
  }

  /**
   * Returns the kind of a name such as `person`, `persons`, `Person`, `po`, `persons.example.com` or
   * `persons.v1.example.com`. If several kinds have the name, returns the kind of the core group, or else of the first
   * group in alphabetical order, in the preferred version. @throws CommandError when no kind has the name
   */
  find(name: string): ServedResource {
    const [type = '', ...rest] = name.toLowerCase().split('.');
    const isMeant = (resource: ServedResource): boolean => namesOf(resource).includes(type);
    const found = this.all.filter(isMeant).filter((resource) => isOfGroup(resource, rest));
    const resource = found.find(({ isPreferred }) => isPreferred) ?? found[0];
    if (resource !== undefined) return resource;
    const near = nearestKey(
      type,
      this.all.flatMap((each) => [each.plural, each.singular]),
    );
    const hint = near === undefined ? '' : `; did you mean "${near}"?`;
    throw new CommandError(`the server doesn't have a resource type "${name}"${hint}`);
  }

  /** Returns the kinds of a category such as `all`; none for an unknown category. */
  inCategory(name: string): readonly ServedResource[] {
    return this.all.filter((each) => each.isPreferred && each.categories.includes(name));
  }

  /** True when the server serves objects of the version and kind. */
  serves(apiVersion: string, kind: string): boolean {
    return this.#find(apiVersion, kind) !== undefined;
  }

  /** Returns the kind of an object. @throws CommandError when the server does not serve it */
  ofObject(apiVersion: string, kind: string): ServedResource {
    const found = this.#find(apiVersion, kind);
    if (found !== undefined) return found;
    throw new CommandError(
      `no matches for kind "${kind}" in version "${apiVersion}": apply its CustomResourceDefinition, or start its plugin`,
    );
  }

  #find(apiVersion: string, kind: string): ServedResource | undefined {
    const slash = apiVersion.lastIndexOf('/');
    const [group, version] = [slash < 0 ? '' : apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
    return this.all.find((each) => each.kind === kind && each.group === group && each.version === version);
  }
}

/** The path of all objects of a kind, in a namespace if one is given. */
export function collectionPath({ group, version, plural, isNamespaced }: ServedResource, namespace?: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const scope = isNamespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root}${scope}/${plural}`;
}

/** The path of one object. */
export function objectPath(resource: ServedResource, namespace: string, name: string): string {
  return `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}`;
}

/** Returns the name of a kind in messages, such as `person.example.com`. */
export function qualifiedName({ singular, group }: ServedResource): string {
  return group === '' ? singular : `${singular}.${group}`;
}

function namesOf({ plural, singular, kind, shortNames }: ServedResource): readonly string[] {
  return [plural, singular, kind.toLowerCase(), ...shortNames];
}

/**
 * True if a kind has the group that a name such as `persons.example.com` contains. If the name also contains a version,
 * as `persons.v1.example.com` does, the kind must have this version. `rest` has the parts of the name after the first
 * dot. If it is empty, every kind matches.
 */
function isOfGroup({ group, version }: ServedResource, rest: readonly string[]): boolean {
  if (rest.length === 0) return true;
  const named = rest.join('.');
  return named === group || named === `${version}.${group}` || (group === '' && named === version);
}

function resourcesIn(list: JsonObject | undefined): readonly ServedResource[] {
  return objectsIn(list?.['items']).flatMap((group) => {
    const { metadata } = group;
    const name = isJsonObject(metadata) ? text(metadata['name']) : '';
    return objectsIn(group['versions']).flatMap((version, index) =>
      objectsIn(version['resources']).map((resource) =>
        servedResource(resource, { group: name, version: text(version['version']), isPreferred: index === 0 }),
      ),
    );
  });
}

function servedResource(
  resource: JsonObject,
  place: Pick<ServedResource, 'group' | 'version' | 'isPreferred'>,
): ServedResource {
  const { responseKind } = resource;
  const kind = isJsonObject(responseKind) ? text(responseKind['kind']) : '';
  return {
    ...place,
    kind,
    plural: text(resource['resource']),
    singular: text(resource['singularResource']) || kind.toLowerCase(),
    shortNames: texts(resource['shortNames']),
    categories: texts(resource['categories']),
    isNamespaced: resource['scope'] === 'Namespaced',
    verbs: texts(resource['verbs']),
  };
}

function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(text) : [];
}
