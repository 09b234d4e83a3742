import { signal } from '@preact/signals';
import { isArray, isObject, textOf } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import type { Resource } from '../api/resources.ts';
import { isApiObject, nameOf } from '../base/object.ts';
import type { ApiObject } from '../base/object.ts';
import type { Change } from '../api/watch-client.ts';
import { api } from './session.ts';

/** The objects of kind Plugin, by name. */
export const plugins = signal<ReadonlyMap<string, ApiObject>>(new Map());

export function setPlugins(list: JsonObject): void {
  plugins.value = new Map(objectsOf(list).map((each) => [nameOf(each), each]));
}

export function changePlugins(changes: readonly Change[]): void {
  const changed = new Map(plugins.value);
  for (const { type, object } of changes) {
    if (!isApiObject(object) || type === 'BOOKMARK') continue;
    if (type === 'DELETED') changed.delete(nameOf(object));
    else changed.set(nameOf(object), object);
  }
  plugins.value = changed;
}

/** The objects of a list. */
export function objectsOf(list: unknown): readonly ApiObject[] {
  return isObject(list) && isArray(list.items) ? list.items.filter(isApiObject) : [];
}

/**
 * The JSON Schema of a plugin's settings; undefined when the plugin has no settings, or the user may not read plugins.
 */
export function settingsSchemaOf(name: string): JsonObject | undefined {
  const spec = plugins.value.get(name)?.spec;
  return isObject(spec) && isObject(spec.settingsSchema) ? spec.settingsSchema : undefined;
}

/** True for the kind of the settings of plugins. */
export function isSettingsKind({ group, plural }: Resource): boolean {
  return plural === 'pluginsettings' && group.startsWith('plugin.');
}

/** A contribution of a plugin to the console. */
export interface Contribution {
  readonly plugin: string;
  readonly point: 'pages' | 'panels' | 'columns' | 'actions';
  readonly name: string;
  readonly title: string;
  /** The path of the ES module below the plugin's assets. */
  readonly module: string;
  /** The kind to which a panel, a column or an action belongs, as `<plural>.<group>`. */
  readonly kind: string;
  /** The path of the field that a column shows. */
  readonly path: string;
  /** The RBAC verb of an action. Only users who may use this verb on an object see the action's button on its page. */
  readonly verb: string;
}

export const contributions = signal<readonly Contribution[]>([]);

const points: readonly Contribution['point'][] = ['pages', 'panels', 'columns', 'actions'];

/** Returns the contributions of plugins to one extension point of the console, for one kind. */
export function addedTo(kind: string, wanted: Contribution['point']): readonly Contribution[] {
  return contributions.value.filter((each) => each.point === wanted && each.kind === kind);
}

/**
 * Reads the contributions of plugins. If the request fails, for example because the user lacks the permission, there
 * are none.
 */
export async function loadContributions(): Promise<void> {
  try {
    const body = await api.get('/apis/api.console.internal/v1/contributions');
    const items = isObject(body) && isArray(body.items) ? body.items.filter(isObject) : [];
    contributions.value = items.map((each) => ({
      plugin: textOf(each.plugin),
      point: points.find((point) => point === each.point) ?? 'panels',
      name: textOf(each.name),
      title: textOf(each.title),
      module: textOf(each.module),
      kind: textOf(each.kind),
      path: textOf(each.path),
      verb: textOf(each.verb) || 'patch',
    }));
  } catch {
    contributions.value = [];
  }
}
