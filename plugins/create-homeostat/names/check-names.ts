import { checkDescriptor, checkDnsSubdomain, checkName, defineModel } from '@homeostat/controller-runtime/api';

/** The domain that plugins of a server with default settings may not use. */
const serviceDomain = 'homeostat.internal';
const reservedName = 'service';

/** Returns why a name breaks the manifest's rules for plugins, as the rest of a sentence that begins with the name. */
export function checkPluginName(name: string): string | undefined {
  return name === reservedName ? 'is reserved' : checkName(name, 'label')[0];
}

/**
 * Returns why a group breaks the manifest's rules for plugins, as the rest of a sentence that begins with the group.
 */
export function checkPluginGroup(group: string): string | undefined {
  return group.includes('.') ? checkDnsSubdomain(group)[0] : 'must be a domain with at least one dot';
}

export interface KindNames {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
}

/** Returns the problems of a kind's names, by the rules for the registration of a kind. */
export function checkKindNames({ group, kind, plural }: KindNames): string | undefined {
  const singular = kind.toLowerCase();
  const schema = { type: 'object', properties: {} } as const;
  try {
    checkDescriptor(defineModel({ group, version: 'v1alpha1', kind, plural, singular, schema }), { serviceDomain });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Returns why a controller or an endpoint cannot have the name, which is part of the names of a file and of a variable.
 */
export function checkPartName(name: string): string | undefined {
  return /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name)
    ? undefined
    : 'must be at most 63 lowercase letters, digits and hyphens, beginning with a letter and not ending with a hyphen';
}
