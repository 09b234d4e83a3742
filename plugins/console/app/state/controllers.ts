import { useState } from 'preact/hooks';
import { isArray, isObject, textOf } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';
import { isApiObject, nameOf } from '../base/object.ts';
import type { ApiObject } from '../base/object.ts';
import type { WatchState } from '../api/watch-client.ts';
import { useFollow } from './follow-kind.ts';
import { resources } from './kinds.ts';
import { objectsOf } from './plugins.ts';
import { may } from './session.ts';

export const controllerGroup = 'controllers.homeostat.internal';
const path = `/apis/${controllerGroup}/v1alpha1/controllers`;

/** A key of a controller's queue. */
export interface ControllerKey {
  readonly key: string;
  readonly state: string;
  readonly attempts: number;
  readonly failingSince: string;
  readonly nextTime: string;
  readonly lastError: string;
}

/** A controller, or one of its shards, with the last report. */
export interface ControllerInfo {
  readonly name: string;
  /** `<plugin>/<controller>`, the name of the controller in Run objects. */
  readonly fullName: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly finalizer: string;
  readonly concurrency: number;
  /** The number of the shard that the report is about; empty for a controller that is not sharded. */
  readonly shard: string;
  /** Empty before the first report. */
  readonly status: JsonObject;
  readonly keys: readonly ControllerKey[];
}

export interface Controllers {
  /** undefined until the controllers are read, and for a user who may not read them. */
  readonly list: readonly ControllerInfo[] | undefined;
  readonly state: WatchState;
}

export const mayFollowControllers = (): boolean => may('watch', { group: controllerGroup, plural: 'controllers' });

/** Returns all controllers with their queues, and renders the component again when one of them changes. */
export function useControllers(): Controllers {
  const [objects, setObjects] = useState<ReadonlyMap<string, ApiObject>>();
  const [state, setState] = useState<WatchState>({ kind: 'listing' });
  const isServed = resources.value?.some(({ group, plural }) => group === controllerGroup && plural === 'controllers');
  const isAllowed = isServed === true && mayFollowControllers();
  const options: Parameters<typeof useFollow>[1] = {
    path,
    onList: (list) => setObjects(new Map(objectsOf(list).map((each) => [nameOf(each), each]))),
    onChanges: (changes) =>
      setObjects((old) => {
        const found = new Map(old);
        for (const { type, object } of changes) {
          if (!isApiObject(object) || type === 'BOOKMARK') continue;
          if (type === 'DELETED') found.delete(nameOf(object));
          else found.set(nameOf(object), object);
        }
        return found;
      }),
    onState: setState,
  };
  useFollow(`controllers ${isAllowed}`, isAllowed ? options : undefined);
  const list = objects === undefined ? undefined : [...objects.values()].map(infoOf);
  list?.sort(
    (a, b) => failingOf(b) - failingOf(a) || a.fullName.localeCompare(b.fullName) || Number(a.shard) - Number(b.shard),
  );
  return { list, state };
}

/** The number of keys that failed, and have not succeeded since. */
export function failingOf({ status }: ControllerInfo): number {
  const queue = isObject(status.queue) ? status.queue : {};
  return typeof queue.failing === 'number' ? queue.failing : 0;
}

/**
 * Returns a text that changes when a controller reports its state. With `kind`, only controllers that reconcile this
 * kind change the text.
 */
export function reportsOf(list: readonly ControllerInfo[], kind?: string): string {
  const reported = list.filter((each) => kind === undefined || each.kind === kind);
  return reported
    .map(({ name, status }) => `${name} ${textOf(status.reportTime)}`)
    .sort()
    .join();
}

/** Names a controller, or one of its shards, for people. */
export function titleOf({ fullName, shard }: ControllerInfo): string {
  return shard === '' ? fullName : `${fullName}#${shard}`;
}

function infoOf(object: ApiObject): ControllerInfo {
  const spec = isObject(object.spec) ? object.spec : {};
  const status = isObject(object.status) ? object.status : {};
  const reconciles = isObject(spec.reconciles) ? spec.reconciles : {};
  return {
    name: nameOf(object),
    fullName: textOf(spec.controller),
    apiVersion: textOf(reconciles.apiVersion),
    kind: textOf(reconciles.kind),
    finalizer: textOf(spec.finalizer),
    concurrency: typeof spec.concurrency === 'number' ? spec.concurrency : 1,
    shard: isObject(spec.shard) ? `${Number(spec.shard.index)}` : '',
    status,
    keys: isArray(status.keys) ? status.keys.filter(isObject).map(keyOf) : [],
  };
}

function keyOf({ key, state, attempts, failingSince, nextTime, lastError }: JsonObject): ControllerKey {
  return {
    key: textOf(key),
    state: textOf(state),
    attempts: typeof attempts === 'number' ? attempts : 0,
    failingSince: textOf(failingSince),
    nextTime: textOf(nextTime),
    lastError: textOf(lastError),
  };
}
