import type { DebugPage } from '@homeostat/apiserver';
import type { ControllerStatus, KeyState, Manager } from '@homeostat/controller-runtime';
import { ApiError, apiVersionOf } from '@homeostat/controller-runtime/api';

/** The managers of the plugins that run, by the plugins' names. */
export type PluginManagers = ReadonlyMap<string, Pick<Manager, 'controllers' | 'queue'>>;

interface PluginController {
  /** `<plugin>/<controller>`: two plugins may have controllers of one name. */
  readonly fullName: string;
  readonly plugin: string;
  readonly status: ControllerStatus;
}

/** An error may quote whole objects. */
const maxErrorLength = 1024;

/**
 * `/debug/controllers`: the controllers of all plugins that run. An item is named `<plugin>/<controller>`, or by the
 * controller alone where one plugin only has such a one.
 */
export function controllersPage(managers: () => PluginManagers): DebugPage {
  return {
    name: 'controllers',
    index: () => ({ items: controllersOf(managers()).map(summaryOf) }),
    item(name, limit) {
      const present = managers();
      const found = findController(controllersOf(present), name);
      if (found === undefined) return undefined;
      const keys = present.get(found.plugin)?.queue(found.status.name, limit) ?? [];
      const total = Object.values(found.status.sizes).reduce((sum, size) => sum + size, 0);
      return { ...summaryOf(found), total, keys: keys.map(keyOf) };
    },
  };
}

function controllersOf(managers: PluginManagers): readonly PluginController[] {
  return [...managers].flatMap(([plugin, manager]) =>
    manager.controllers().map((status) => ({ fullName: `${plugin}/${status.name}`, plugin, status })),
  );
}

function findController(controllers: readonly PluginController[], name: string): PluginController | undefined {
  const named = controllers.filter(({ fullName, status }) => fullName === name || status.name === name);
  if (named.length < 2) return named[0];
  const names = named.map(({ fullName }) => fullName).join(', ');
  throw new ApiError('BadRequest', `several plugins have a controller "${name}": ask for one of ${names}`);
}

function summaryOf({ fullName, status }: PluginController): object {
  const { model, sizes } = status;
  return { name: fullName, gvk: `${apiVersionOf(model)}/${model.kind}`, queue: sizes };
}

function keyOf({ nextTime, lastError, ...state }: KeyState): object {
  return {
    ...state,
    ...(nextTime === undefined ? {} : { nextTime: new Date(nextTime).toISOString() }),
    ...(lastError === undefined ? {} : { lastError: lastError.slice(0, maxErrorLength) }),
  };
}
