import { computed, signal } from '@preact/signals';
import { groupOf, keyOf, readResources } from '../api/resources.ts';
import type { Resource } from '../api/resources.ts';
import { toFailure } from '../api/failure.ts';
import type { ApiFailure } from '../api/failure.ts';
import { isSettingsKind } from './plugins.ts';
import { api } from './session.ts';

/** All kinds of the server; undefined until they are read the first time. */
export const resources = signal<readonly Resource[] | undefined>(undefined);
export const kindsFailure = signal<ApiFailure | undefined>(undefined);

const defaultDomain = 'homeostat.internal';

/**
 * The domain of the server's own kinds, such as Plugin in the group `plugin.<domain>`. It is the option
 * `--service-domain` of the server; until the kinds are read, the default of this option.
 */
const serviceDomain = computed(() => {
  const domains = (resources.value ?? []).filter(isSettingsKind).map(({ group }) => group.slice('plugin.'.length));
  return domains.includes(defaultDomain) ? defaultDomain : (domains[0] ?? defaultDomain);
});

/** The group of the kinds Plugin and PluginSettings. */
export const pluginGroup = computed(() => `plugin.${serviceDomain.value}`);

/**
 * True for the core group, and for all groups below `k8s.io`, the service domain and `homeostat.internal`. The console
 * lists the kinds of these groups last, since people look for their own kinds first.
 */
export function isBuiltIn({ group }: Pick<Resource, 'group'>): boolean {
  const ofServers = ['k8s.io', defaultDomain, serviceDomain.value];
  return group === '' || ofServers.some((domain) => group.endsWith(`.${domain}`));
}

/** The kinds that can be listed; those that every server has are last. */
export const listedKinds = computed(() => {
  const listed = (resources.value ?? []).filter(({ verbs }) => verbs.includes('list'));
  return [...listed].sort(
    (a, b) =>
      Number(isBuiltIn(a)) - Number(isBuiltIn(b)) || a.group.localeCompare(b.group) || a.kind.localeCompare(b.kind),
  );
});

/** Reads the kinds again. If that fails, the known kinds stay. */
export async function loadKinds(): Promise<void> {
  try {
    const found = await readResources(api);
    if (JSON.stringify(found) !== JSON.stringify(resources.value)) resources.value = found;
    kindsFailure.value = undefined;
  } catch (error) {
    kindsFailure.value = toFailure(error);
  }
}

/** Returns the kind that a key such as `persons.people.example.com` identifies. */
export function findKind(key: string): Resource | undefined {
  return resources.value?.find((each) => keyOf(each) === key);
}

/** The kind that an object or an owner reference names. */
export function kindOfObject(apiVersion: string, kind: string): Resource | undefined {
  const group = groupOf(apiVersion);
  return resources.value?.find((each) => each.group === group && each.kind === kind);
}
