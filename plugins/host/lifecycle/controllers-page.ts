import type { DebugPage } from '@homeostat/apiserver';
import type { ControllerStatus, KeyState, Manager, RunRecord } from '@homeostat/controller-runtime';
import { ApiError, apiVersionOf } from '@homeostat/controller-runtime/api';

export type PluginManager = Pick<Manager, 'controllers' | 'queue' | 'stateOf' | 'runs'>;

/** The managers of the running plugins, by plugin name. */
export type PluginManagers = ReadonlyMap<string, PluginManager>;

interface PluginController {
  /** `<plugin>/<controller>`, because two plugins may have controllers with the same name. */
  readonly fullName: string;
  readonly manager: PluginManager;
  readonly status: ControllerStatus;
}

/** The maximum length of an error on the page. Longer errors are cut, because they may quote whole objects. */
const maxErrorLength = 1024;

/**
 * `/debug/controllers`: the controllers of all plugins that run. The name of an item is `<plugin>/<controller>`, or
 * just `<controller>` if only one plugin has a controller of that name. A name with `/<key>` at its end is that of an
 * object of the controller.
 */
export function controllersPage(managers: () => PluginManagers): DebugPage {
  return {
    name: 'controllers',
    index: () => ({ items: controllersOf(managers()).map(summaryOf) }),
    item(name, limit) {
      const present = controllersOf(managers());
      const found = findController(present, name);
      return found === undefined ? objectPage(present, name) : controllerPage(found, limit);
    },
  };
}

function controllersOf(managers: PluginManagers): readonly PluginController[] {
  return [...managers].flatMap(([plugin, manager]) =>
    manager.controllers().map((status) => ({ fullName: `${plugin}/${status.name}`, manager, status })),
  );
}

function controllerPage(found: PluginController, limit: number): object {
  const { manager, status } = found;
  const total = Object.values(status.sizes).reduce((sum, size) => sum + size, 0);
  const keys = manager.queue(status.name, limit).map(keyOf);
  return { ...summaryOf(found), total, keys, lastRuns: manager.runs(status.name, { limit }).map(runOf) };
}

/**
 * Returns the queue state and the last runs of one object of a controller. `name` is `<plugin>/<controller>/<key>` or
 * `<controller>/<key>`; a name that can be read in both ways is read in the first. Returns undefined when there is no
 * such controller, or when the controller has neither a state nor a run of the key.
 */
function objectPage(controllers: readonly PluginController[], name: string): object | undefined {
  const segments = name.split('/');
  for (const length of [2, 1]) {
    const found = findController(controllers, segments.slice(0, length).join('/'));
    const key = segments.slice(length).join('/');
    if (found === undefined || key === '') continue;
    const { manager, status, fullName } = found;
    const state = manager.stateOf(status.name, key);
    const runs = manager.runs(status.name, { key });
    if (state === undefined && runs.length === 0) return undefined;
    return { controller: fullName, key, queue: state === undefined ? null : keyOf(state), runs: runs.map(runOf) };
  }
  return undefined;
}

function findController(controllers: readonly PluginController[], name: string): PluginController | undefined {
  const named = controllers.filter(({ fullName, status }) => fullName === name || status.name === name);
  if (named.length < 2) return named[0];
  const names = named.map(({ fullName }) => fullName).join(', ');
  throw new ApiError('BadRequest', `several plugins have a controller "${name}": use one of ${names}`);
}

function summaryOf({ fullName, status }: PluginController): object {
  const { model, sizes, shards, problem } = status;
  const part = shards === undefined ? {} : { shards };
  const summary = { name: fullName, gvk: `${apiVersionOf(model)}/${model.kind}`, queue: sizes, ...part };
  return problem === undefined ? summary : { ...summary, problem };
}

function keyOf({ failingSince, nextTime, lastError, ...state }: KeyState): object {
  return {
    ...state,
    ...(failingSince === undefined ? {} : { failingSince: new Date(failingSince).toISOString() }),
    ...(nextTime === undefined ? {} : { nextTime: new Date(nextTime).toISOString() }),
    ...(lastError === undefined ? {} : { lastError: lastError.slice(0, maxErrorLength) }),
  };
}

function runOf({ startTime, durationMs, ...run }: RunRecord): object {
  return { ...run, startTime: new Date(startTime).toISOString(), durationMs: Math.round(durationMs * 1000) / 1000 };
}
