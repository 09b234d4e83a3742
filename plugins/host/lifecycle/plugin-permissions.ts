import type { PluginPermits, ResourceAttributes } from '@homeostat/apiserver';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { PermissionRule } from '../manifest/permission-rules.ts';
import type { PluginManifest } from '../manifest/manifest.ts';

/** The two names by which permissions identify a kind. */
type KindName = Pick<ModelDescriptor, 'group' | 'plural'>;

export interface PluginPermissionsParts {
  readonly manifest: Pick<PluginManifest, 'name' | 'group' | 'permissions'>;
  /** The kinds that the plugin has registered. */
  readonly registered: () => readonly KindName[];
}

const readVerbs: readonly string[] = ['get', 'list', 'watch'];
const applyVerbs: readonly string[] = ['get', 'create', 'patch'];

/**
 * The permissions of a plugin's client. With `permissions:` in its manifest, the plugin may do what these rules allow.
 * Without them, it may do everything in its own groups, read namespaces and the kinds of its controllers, and get,
 * create and patch objects of the kinds of its declared objects. In both cases it may do everything with Events, the
 * Leases with its name, and the records of external effects of its controllers, except to list these records.
 */
export class PluginPermissions implements PluginPermits {
  readonly #parts: PluginPermissionsParts;
  readonly #read = new Set<string>();
  readonly #applied = new Set<string>();
  readonly #controllers = new Set<string>();

  constructor(parts: PluginPermissionsParts) {
    this.#parts = parts;
  }

  /** Adds kinds that the plugin's controllers read. */
  addRead(kinds: readonly KindName[]): void {
    for (const kind of kinds) this.#read.add(nameOf(kind));
  }

  /** Permits the plugin to use the records of external effects of its controller with this name. */
  addController(name: string): void {
    this.#controllers.add(name);
  }

  /**
   * Adds the kinds of the plugin's declared objects. Without `permissions:` in its manifest, the plugin may get, create
   * and patch objects of these kinds.
   */
  addApplied(kinds: readonly KindName[]): void {
    for (const kind of kinds) this.#applied.add(nameOf(kind));
  }

  permits(attributes: ResourceAttributes): boolean {
    const { permissions } = this.#parts.manifest;
    if (isEvent(attributes) || this.#isOwnLease(attributes) || this.#isOwnEffect(attributes)) return true;
    return permissions === undefined
      ? this.#permitsByDefault(attributes)
      : permissions.some((rule) => covers(rule, attributes));
  }

  cureOf(attributes: ResourceAttributes): string {
    const { permissions } = this.#parts.manifest;
    const line = lineFor(attributes);
    if (permissions !== undefined) return `add to "permissions:" in plugin.yaml: - ${line}`;
    const own = [...this.#ownGroups()].join(', ');
    const rest =
      own === ''
        ? ''
        : `. The list replaces the default permissions. To keep full access to the own groups of the plugin, also add: - {apiGroups: [${own}], resources: ['*'], verbs: ['*']}`;
    return `add "permissions:" to plugin.yaml, with: - ${line}${rest}`;
  }

  #permitsByDefault(attributes: ResourceAttributes): boolean {
    const { group, resource, verb } = attributes;
    if (this.#isOwnGroup(group)) return true;
    const name = nameOf({ group, plural: resource });
    if (readVerbs.includes(verb) && (this.#read.has(name) || name === namespaces)) return true;
    return applyVerbs.includes(verb) && this.#applied.has(name);
  }

  #isOwnGroup(group: string): boolean {
    const { group: own } = this.#parts.manifest;
    return group === own || (own !== undefined && group.endsWith(`.${own}`)) || this.#ownGroups().has(group);
  }

  #ownGroups(): ReadonlySet<string> {
    const { manifest, registered } = this.#parts;
    const groups = registered().map(({ group }) => group);
    return new Set(manifest.group === undefined ? groups : [manifest.group, ...groups]);
  }

  /**
   * True for Leases whose name is the plugin's name, or begins with it and a dot or hyphen, such as the Lease of its
   * controllers.
   */
  #isOwnLease({ group, resource, name = '' }: ResourceAttributes): boolean {
    const own = this.#parts.manifest.name;
    return (
      group === 'coordination.k8s.io' &&
      resource === 'leases' &&
      (name === own || name.startsWith(`${own}.`) || name.startsWith(`${own}-`))
    );
  }

  /**
   * True for the records of external effects of the plugin's controllers. The name of a record begins with that of its
   * controller; a list has no name, so the result is false for lists.
   */
  #isOwnEffect({ group, resource, name = '' }: ResourceAttributes): boolean {
    const isRecord = group === 'controllers.homeostat.internal' && resource === 'externaleffects';
    return isRecord && this.#controllers.has(name.split('.', 1)[0] ?? '');
  }
}

const namespaces = nameOf({ group: '', plural: 'namespaces' });

function nameOf({ group, plural }: KindName): string {
  return `${plural}.${group}`;
}

function isEvent({ group, resource }: ResourceAttributes): boolean {
  return resource === 'events' && (group === '' || group === 'events.k8s.io');
}

/**
 * True when a rule allows a request, as in RBAC: each list of the rule must contain the request's value, or `*`. In
 * `resourceNames`, `*` has no special meaning.
 */
function covers(rule: PermissionRule, attributes: ResourceAttributes): boolean {
  const { verb, group, resource, subresource, name } = attributes;
  const { verbs, apiGroups = [], resources = [], resourceNames } = rule;
  const part = subresource === undefined ? resource : `${resource}/${subresource}`;
  const anyParent = subresource === undefined ? part : `*/${subresource}`;
  return (
    has(verbs, verb) &&
    has(apiGroups, group) &&
    (has(resources, part) || resources.includes(anyParent)) &&
    (resourceNames === undefined ||
      (name !== undefined && !verbsWithoutName.includes(verb) && resourceNames.includes(name)))
  );
}

/** Verbs that a rule with `resourceNames` does not allow, as in RBAC: these requests have no name in their path. */
const verbsWithoutName: readonly string[] = ['create', 'deletecollection'];

function has(list: readonly string[], value: string): boolean {
  return list.includes(value) || list.includes('*');
}

/** Returns the rule that would allow a request, as a line of YAML. */
function lineFor({ verb, group, resource, subresource }: ResourceAttributes): string {
  const part = subresource === undefined ? resource : `${resource}/${subresource}`;
  return `{apiGroups: [${group === '' ? "''" : group}], resources: [${part}], verbs: [${verb}]}`;
}
