import { createdByKey, fieldManagerOf } from '../declared/declared-mark.ts';
import type { ServerApi } from '../remote/server-api.ts';

/** An object on a server. */
export interface FoundObject {
  readonly path: string;
  readonly uid: string;
}

interface ListedObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly { manager?: string; operation?: string; fieldsV1?: object }[];
  };
}

interface ListedResource {
  readonly name: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

/**
 * Returns the objects, of all served kinds, that the plugin has created from its files: those with the plugin's
 * annotation, if the plugin is the manager that owns this annotation.
 */
export async function findDeclaredBy(
  plugin: string,
  { api, serviceDomain }: { readonly api: ServerApi; readonly serviceDomain: string },
): Promise<readonly FoundObject[]> {
  const found = new Map<string, FoundObject>();
  for (const version of await versionsOf(api)) {
    for (const kind of await kindsOf(api, version)) {
      const mine = (object: ListedObject): boolean => isCreatedBy(object, plugin, createdByKey(serviceDomain));
      for (const { metadata } of await listAll(api, `${version}/${kind.name}`, mine)) {
        const place = kind.namespaced ? `namespaces/${metadata.namespace ?? ''}/${kind.name}` : kind.name;
        found.set(metadata.uid, { path: `${version}/${place}/${metadata.name}`, uid: metadata.uid });
      }
    }
  }
  return [...found.values()];
}

async function kindsOf(api: ServerApi, version: string): Promise<readonly ListedResource[]> {
  const { resources = [] } = await api.get<{ resources?: readonly ListedResource[] }>(version);
  return resources.filter(
    ({ name, verbs }) => !name.includes('/') && ['list', 'delete'].every((verb) => verbs.includes(verb)),
  );
}

async function versionsOf(api: ServerApi): Promise<readonly string[]> {
  const { groups } = await api.get<{ groups: readonly { versions: readonly { groupVersion: string }[] }[] }>('/apis');
  return ['/api/v1', ...groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => `/apis/${groupVersion}`))];
}

async function listAll(
  api: ServerApi,
  path: string,
  isWanted: (object: ListedObject) => boolean,
): Promise<readonly ListedObject[]> {
  const found: ListedObject[] = [];
  let next = '';
  do {
    const query = new URLSearchParams({ limit: '500', ...(next === '' ? {} : { continue: next }) });
    const page = await api.get<{ items: readonly ListedObject[]; metadata: { continue?: string } }>(
      `${path}?${query.toString()}`,
    );
    found.push(...page.items.filter(isWanted));
    next = page.metadata.continue ?? '';
  } while (next !== '');
  return found;
}

function isCreatedBy({ metadata }: ListedObject, plugin: string, key: string): boolean {
  if (metadata.annotations?.[key] !== plugin) return false;
  return (metadata.managedFields ?? []).some(
    ({ manager, operation, fieldsV1 = {} }) =>
      manager === fieldManagerOf(plugin) && operation === 'Apply' && ownsAnnotation(fieldsV1, key),
  );
}

function ownsAnnotation(fields: object, key: string): boolean {
  const { 'f:metadata': metadata }: { 'f:metadata'?: { 'f:annotations'?: object } } = fields;
  return Object.hasOwn(metadata?.['f:annotations'] ?? {}, `f:${key}`);
}
