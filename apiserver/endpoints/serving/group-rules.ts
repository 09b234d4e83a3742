import { checkDnsSubdomain, quoteValue } from '@homeostat/controller-runtime/api';

/** The revision of the interface for which a plugin is written (specification, section 9). */
export type EndpointRevision = '2.15' | '2.9';

const versionPattern = /^v[1-9]\d*(?:(?:alpha|beta)[1-9]\d*)?$/;
const versionRule = 'must be like v1, v1alpha1 or v2beta3';

export interface GroupRules {
  /** The domain of the server's own kinds. A plugin's groups must not be in this domain. */
  readonly serviceDomain: string;
  /**
   * The group in the plugin's manifest. If the manifest has no group, the plugin may use all groups except reserved
   * groups, {@link foreign} groups and subdomains of foreign groups.
   */
  readonly ownGroup: string | undefined;
  /** The groups in the manifests of other plugins, and the groups of kinds of other owners, each with its owner. */
  readonly foreign: readonly { readonly group: string; readonly owner: string }[];
}

/** Parses `<group>/<version>`. @throws Error that describes the expected form. */
export function parseGroupVersion(value: unknown): { readonly group: string; readonly version: string } {
  const [group = '', version = '', ...more] = typeof value === 'string' ? value.split('/') : [];
  if (group === '' || version === '' || more.length > 0)
    throw new Error(`${quoteValue(value)} must be <group>/<version>, such as api.example.com/v1alpha1`);
  checkVersion(version);
  return { group, version };
}

/**
 * Checks a version without a group, as in revision 2.9, and returns it. @throws Error that describes the expected form.
 */
export function checkVersion(value: unknown): string {
  if (typeof value === 'string' && versionPattern.test(value)) return value;
  const form =
    typeof value === 'string' && value.includes('/') ? 'must be only the version, without a group, and ' : '';
  throw new Error(`${quoteValue(value)} ${form}${versionRule}`);
}

/** Checks that a plugin may use a group. @throws Error that names the group and the reason. */
export function checkGroup(group: string, { serviceDomain, ownGroup, foreign }: GroupRules): void {
  const name = quoteValue(group);
  if (!group.includes('.') || checkDnsSubdomain(group).length > 0)
    throw new Error(`the group ${name} must be a domain with at least one dot`);
  if (isAtOrBelow(group, serviceDomain))
    throw new Error(`the group ${name} is reserved: ${serviceDomain} and its subdomains belong to the server`);
  // The groups that consoleGroup, userGroup and publicGroup return pass this check, because they are below the plugin's
  // own group.
  if (ownGroup !== undefined && !isAtOrBelow(group, ownGroup))
    throw new Error(`the group ${name} must be the plugin's own group ${ownGroup}, or a subdomain of it`);
  const taken = foreign.find((other) => isAtOrBelow(group, other.group) && !isWithin(ownGroup, other.group));
  if (taken !== undefined)
    throw new Error(`the group ${name} belongs to "${taken.owner}", which owns ${taken.group} and its subdomains`);
}

/**
 * True when the group in the plugin's manifest, `ownGroup`, equals another owner's group, `group`, or is a subdomain of
 * `group`. Then the plugin may use `ownGroup` and its subdomains, although they belong to the other owner's domain.
 */
function isWithin(ownGroup: string | undefined, group: string): boolean {
  return ownGroup !== undefined && isAtOrBelow(ownGroup, group);
}

function isAtOrBelow(group: string, domain: string): boolean {
  return group === domain || group.endsWith(`.${domain}`);
}
