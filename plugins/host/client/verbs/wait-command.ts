import type { JsonObject } from '@homeostat/controller-runtime/api';
import { textFlag } from '../../serve/text-flag.ts';
import type { ClientCommand } from '../client-command.ts';
import { CommandError } from '../command-error.ts';
import { formatValue, jsonPathValues, toJsonValue } from '../output/json-path-template.ts';
import { readTargets, selectorsOf, targetOfItem } from '../object-arguments.ts';
import type { ObjectTarget } from '../object-arguments.ts';
import { ServerRefusal } from '../object-server.ts';
import { print } from '../output/print.ts';
import { qualifiedName } from '../resource-names.ts';
import { isServerObject, objectsAt, textAt } from '../server-object.ts';
import type { ServerObject } from '../server-object.ts';
import { readTimeoutMs } from './wait-timeout.ts';

/** Returns true once the wait is over; the object is undefined while it does not exist. */
type Goal = (object: ServerObject | undefined) => boolean;

const defaultTimeoutMs = 30_000;
/**
 * The minimum time limit of a list request. If the time of the wait is already over when an object's turn comes, the
 * command still has this time to check the object once.
 */
const minListMs = 10_000;

/** `homeostat wait --for=…`: waits until objects meet the condition. */
export async function waitForObjects(command: ClientCommand): Promise<number> {
  const given = textFlag(command.flags, 'for');
  if (given === undefined)
    throw new CommandError('--for is needed: condition=TYPE, jsonpath={PATH}=VALUE, create or delete', 2);
  const goal = readGoal(given);
  const timeoutMs = readTimeoutMs(command.flags) ?? defaultTimeoutMs;
  const deadlineMs = performance.now() + timeoutMs;
  const targets = await targetsOf(command);
  for (const target of targets) {
    const restMs = Math.max(0, deadlineMs - performance.now());
    await waitUntil(command, { target, goal, timeoutMs: restMs });
    const met = given === 'delete' ? 'deleted' : 'condition met';
    await print(`${qualifiedName(target.resource)}/${target.name} ${met}\n`);
  }
  return 0;
}

interface Departure {
  readonly target: ObjectTarget;
  /** The time limit; undefined for a wait without a limit. */
  readonly timeoutMs: number | undefined;
  /** The uid of the object whose removal is awaited. A new object with the same name does not prolong the wait. */
  readonly isGone: string;
}

/** Waits until an object is deleted. */
export async function waitFor(command: ClientCommand, { target, timeoutMs, isGone: uid }: Departure): Promise<void> {
  const goal: Goal = (object) => object === undefined || object.metadata.uid !== uid;
  await waitUntil(command, { target, goal, timeoutMs });
}

/** Waits until an object has a condition with the status True. @throws CommandError after 30 seconds */
export async function waitForCondition(command: ClientCommand, target: ObjectTarget, type: string): Promise<void> {
  await waitUntil(command, { target, goal: conditionGoal(type), timeoutMs: defaultTimeoutMs });
}

interface Wait {
  readonly target: ObjectTarget;
  readonly goal: Goal;
  readonly timeoutMs: number | undefined;
}

async function waitUntil(command: ClientCommand, { target, goal, timeoutMs }: Wait): Promise<void> {
  const { signal } = command.server;
  const after = (ms: number): AbortSignal => AbortSignal.timeout(Math.ceil(ms));
  const ends = timeoutMs === undefined ? [] : [after(Math.max(minListMs, timeoutMs)), after(timeoutMs)];
  const [list = signal, watch = signal] = ends.map((end) => AbortSignal.any([signal, end]));
  while (!(await isReached(command, { target, goal, limits: { list, watch } }))) {
    signal.throwIfAborted();
    // Node 20 garbage-collects a signal of `AbortSignal.timeout` to which only `AbortSignal.any` refers. The signal
    // then never aborts. This use of `ends` keeps the signals in memory.
    if (ends.some((end) => end.aborted))
      throw new CommandError(`timed out waiting for the condition on ${target.resource.plural}/${target.name}`);
  }
}

interface Limits {
  readonly list: AbortSignal;
  readonly watch: AbortSignal;
}

/**
 * Lists the object, then watches it. Resolves with false when the watch or the time limit ends before the goal is
 * reached. An object is listed even if no time is left.
 */
async function isReached(
  { server }: ClientCommand,
  { target, goal, limits }: Pick<Wait, 'target' | 'goal'> & { readonly limits: Limits },
): Promise<boolean> {
  const path = target.path.slice(0, target.path.lastIndexOf('/'));
  const query = { fieldSelector: `metadata.name=${target.name}` };
  let signal = limits.list;
  try {
    const list = await server.send('GET', path, { query, signal });
    const [live] = objectsAt(list, 'items');
    if (goal(live === undefined ? undefined : objectOf(live, target))) return true;
    const resourceVersion = textAt(list, 'metadata', 'resourceVersion');
    signal = limits.watch;
    for await (const { type, object } of server.watch(path, { query: { ...query, resourceVersion }, signal })) {
      if (type === 'BOOKMARK') continue;
      if (goal(type === 'DELETED' ? undefined : objectOf(object, target))) return true;
    }
  } catch (error) {
    // After 410, the server no longer has the history that the watch needs, so the object is listed again.
    const isExpired = error instanceof ServerRefusal && error.code === 410;
    if (!isExpired && !signal.aborted) throw error;
  }
  return false;
}

/** Returns an item of a list or a watch as an object: adds apiVersion and kind, which the item may lack. */
function objectOf(item: JsonObject, { resource: { group, version, kind } }: ObjectTarget): ServerObject {
  const object = { apiVersion: group === '' ? version : `${group}/${version}`, kind, ...item };
  if (isServerObject(object)) return object;
  throw new Error('the server sent an object without metadata');
}

async function targetsOf(command: ClientCommand): Promise<readonly ObjectTarget[]> {
  const { objects, collections } = await readTargets(command);
  const found = [...objects];
  for (const { resource, path } of collections) {
    for await (const { items } of command.server.pages(path, { query: selectorsOf(command) }))
      for (const item of objectsAt(items)) found.push(targetOfItem(command, resource, item));
  }
  if (found.length === 0) throw new CommandError('no matching resources found');
  return found;
}

function readGoal(given: string): Goal {
  if (given === 'delete') return (object) => object === undefined;
  if (given === 'create') return (object) => object !== undefined;
  const [kind = '', ...rest] = given.split('=');
  const argument = rest.join('=');
  if (kind === 'condition' && argument !== '') return conditionGoal(argument);
  if (kind === 'jsonpath' && argument !== '') return pathGoal(argument);
  throw new CommandError(`--for: must be condition=TYPE, jsonpath={PATH}=VALUE, create or delete, not "${given}"`, 2);
}

/**
 * Returns the goal of a condition such as `Ready` or `Ready=false`. A condition of an older generation does not count.
 */
function conditionGoal(argument: string): Goal {
  const [type = '', status = 'true'] = argument.split('=');
  return (object) => {
    const conditions = objectsAt(object, 'status', 'conditions');
    const found = conditions.find((each) => textAt(each, 'type').toLowerCase() === type.toLowerCase());
    if (found === undefined || object === undefined) return false;
    const observed = found['observedGeneration'];
    if (typeof observed === 'number' && observed < (object.metadata.generation ?? 0)) return false;
    return textAt(found, 'status').toLowerCase() === status.toLowerCase();
  };
}

/**
 * Returns the goal of a path such as `{.status.phase}=Running`; without a value after `=`, the goal is met by any
 * value.
 */
function pathGoal(argument: string): Goal {
  const [, path = '', value] = /^(\{.*\}|[^=]*)(?:=(.*))?$/s.exec(argument) ?? [];
  const read = jsonPathValues(path.replace(/^\{(.*)\}$/s, '$1'));
  return (object) => {
    const values = object === undefined ? [] : read(toJsonValue(object)).map(formatValue);
    return value === undefined ? values.length > 0 : values.length === 1 && values[0] === value;
  };
}
