import type { ControllerObject, Run } from '@homeostat/controller-runtime/api';
import { nearestKey } from '@homeostat/controller-runtime/api';
import { CommandError } from './command-error.ts';
import type { ObjectServer, Query } from './object-server.ts';
import { isServerObject } from './server-object.ts';

const root = '/apis/controllers.homeostat.internal/v1alpha1';

export const controllersPath: string = `${root}/controllers`;

/** The path of the runs in a namespace; without a namespace, of all runs. */
export function runsPath(namespace?: string): string {
  return namespace === undefined ? `${root}/runs` : `${root}/namespaces/${encodeURIComponent(namespace)}/runs`;
}

export function isRun(object: object): object is Run {
  return isServerObject(object) && object.kind === 'Run';
}

export function isController(object: object): object is ControllerObject {
  return isServerObject(object) && object.kind === 'Controller';
}

/** Reads all controllers in the order of their names, and the revision from which a watch continues. */
export async function readControllers(
  server: ObjectServer,
): Promise<{ readonly controllers: readonly ControllerObject[]; readonly resourceVersion: string }> {
  const { items, metadata } = await server.send('GET', controllersPath);
  const controllers = Array.isArray(items) ? items.filter(isController) : [];
  return {
    controllers: controllers.sort(
      (a, b) =>
        a.spec.controller.localeCompare(b.spec.controller) || (a.spec.shard?.index ?? 0) - (b.spec.shard?.index ?? 0),
    ),
    resourceVersion: String(Reflect.get(Object(metadata), 'resourceVersion')),
  };
}

/** Reads runs that match a query. */
export async function readRuns(
  server: ObjectServer,
  query: Query,
  namespace?: string,
): Promise<{ readonly runs: readonly Run[]; readonly resourceVersion: string }> {
  const { items, metadata } = await server.send('GET', runsPath(namespace), { query });
  const runs = Array.isArray(items) ? items.filter(isRun) : [];
  return { runs, resourceVersion: String(Reflect.get(Object(metadata), 'resourceVersion')) };
}

/**
 * Returns the controller with this name: `<plugin>/<controller>`, or only `<controller>` if it is unique. For a sharded
 * controller, returns one object for each shard.
 * @throws CommandError
 */
export function findController(
  controllers: readonly ControllerObject[],
  name: string,
): readonly [ControllerObject, ...ControllerObject[]] {
  const found = controllers.filter(
    ({ spec: { controller } }) => controller === name || controller.slice(controller.lastIndexOf('/') + 1) === name,
  );
  const [only, ...others] = found;
  const isOne = others.every(({ spec }) => spec.controller === only?.spec.controller);
  if (only !== undefined && isOne) return [only, ...others];
  const names = [...new Set(controllers.map(({ spec }) => spec.controller))];
  if (only !== undefined)
    throw new CommandError(
      `several controllers are called "${name}": ${[...new Set(found.map(({ spec }) => spec.controller))].join(', ')}`,
    );
  if (names.length === 0)
    throw new CommandError(`there is no controller "${name}": no controller has reported to this server`);
  const near = nearestKey(name, [...names, ...names.map((each) => each.slice(each.lastIndexOf('/') + 1))]);
  const hint = near === undefined ? `the controllers are ${names.join(', ')}` : `did you mean "${near}"?`;
  throw new CommandError(`there is no controller "${name}"; ${hint}`);
}
