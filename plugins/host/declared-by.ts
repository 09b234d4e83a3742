import { createdByKey } from './plugin-kind.ts';
import { fieldManagerOf } from './apply-declared-objects.ts';
import type { ServerApi } from './server-api.ts';

/** Where an object is on a server. */
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

/** All objects, of all kinds that the server serves, that the plugin has created by its files: those that it marked, while the mark is its own. */
export async function findDeclaredBy(
  plugin: string,
  { api, serviceDomain }: { readonly api: ServerApi; readonly serviceDomain: string },
): Promise<readonly FoundObject[]> {
  const found = new Map<string, FoundObject>();
  for (const version of await versionsOf(api)) {
    const { resources = [] } = await api.get<{ resources?: readonly ListedResource[] }>(version);
    const kinds = resources.filter(({ name, verbs }) => !name.includes('/') && ['list', 'delete'].every((verb) => verbs.includes(verb)));
    for (const kind of kinds) {
      for await (const object of listAll(api, `${version}/${kind.name}`)) {
        if (!isCreatedBy(object, plugin, createdByKey(serviceDomain))) continue;
        const { name, namespace, uid } = object.metadata;
        const place = kind.namespaced ? `namespaces/${namespace ?? ''}/${kind.name}` : kind.name;
        found.set(uid, { path: `${version}/${place}/${name}`, uid });
      }
    }
  }
  return [...found.values()];
}

async function versionsOf(api: ServerApi): Promise<readonly string[]> {
  const { groups } = await api.get<{ groups: readonly { versions: readonly { groupVersion: string }[] }[] }>('/apis');
  return ['/api/v1', ...groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => `/apis/${groupVersion}`))];
}

async function* listAll(api: ServerApi, path: string): AsyncGenerator<ListedObject, void, undefined> {
  let next = '';
  do {
    const query = new URLSearchParams({ limit: '500', ...(next === '' ? {} : { continue: next }) });
    const page = await api.get<{ items: readonly ListedObject[]; metadata: { continue?: string } }>(
      `${path}?${query.toString()}`,
    );
    yield* page.items;
    next = page.metadata.continue ?? '';
  } while (next !== '');
}

function isCreatedBy({ metadata }: ListedObject, plugin: string, key: string): boolean {
  if (metadata.annotations?.[key] !== plugin) return false;
  return (metadata.managedFields ?? []).some(
    ({ manager, operation, fieldsV1 = {} }) =>
      manager === fieldManagerOf(plugin) && operation === 'Apply' && ownsAnnotation(fieldsV1, key),
  );
}

function ownsAnnotation(fields: object, key: string): boolean {
  const { 'f:metadata': metadata } = fields as { 'f:metadata'?: { 'f:annotations'?: object } };
  return Object.hasOwn(metadata?.['f:annotations'] ?? {}, `f:${key}`);
}
