import type { Condition } from '../object/conditions.ts';
import { isJsonObject } from '../base/json-object.ts';
import { shardOf } from '../base/shard-of.ts';
import { formatKey, keyOf } from '../object/object.ts';
import type { ApiObject } from '../object/object.ts';
import { isPaused, pausedAnnotation } from './actions.ts';
import type { ControllerObject } from './controller-state.ts';
import { explainFinalizers } from './explain-finalizers.ts';
import type { ExplainedController, ExplainedOwner, Explanation } from './explanation.ts';
import { formatAge } from '../base/format-age.ts';
import { failureOf, isFailing } from './key-failure.ts';
import type { Run } from './run.ts';

/** The facts about an object that {@link explainObject} uses. */
export interface KnownObject {
  readonly object: ApiObject;
  /** All controllers of the server; undefined when the user may not read them. */
  readonly controllers: readonly ControllerObject[] | undefined;
  /** Runs for the object, in any order; undefined when the user may not read them. */
  readonly runs: readonly Run[] | undefined;
  readonly owners: readonly ExplainedOwner[];
  /** The current time, in milliseconds since 1970. */
  readonly nowMs: number;
}

/** Explains the state of an object from the given facts. It is a pure function. */
export function explainObject(known: KnownObject): Explanation {
  return explain({ ...known, controllers: known.controllers?.filter((each) => isAbout(each, known.object)) });
}

function explain(known: KnownObject): Explanation {
  const { object, owners, nowMs } = known;
  const { apiVersion, kind, metadata } = object;
  const { name, namespace, uid, resourceVersion, generation } = metadata;
  const controllers = controllersOf(known);
  const finalizers = explainFinalizers(known);
  const conditions = conditionsOf(object);
  const observed = observedGenerationOf(object, conditions);
  const mayReadControllers = known.controllers !== undefined;
  const facts = { object, controllers, mayReadControllers, conditions, observed, finalizers, nowMs };
  const { state, summary } = judge(facts);
  return {
    apiVersion: 'controllers.homeostat.internal/v1alpha1',
    kind: 'Explanation',
    object: { apiVersion, kind, ...(namespace === undefined ? {} : { namespace }), name, uid, resourceVersion },
    state,
    summary,
    details: detailsOf(known, { controllers, conditions }),
    generation,
    ...(observed === undefined ? {} : { observedGeneration: observed }),
    conditions,
    finalizers,
    controllers,
    owners,
  };
}

/** False when the report is about a shard to which the object does not belong. */
function isAbout({ spec: { shard } }: ControllerObject, object: ApiObject): boolean {
  return shard === undefined || shardOf(formatKey(keyOf(object)), shard.of) === shard.index;
}

interface Facts {
  readonly object: ApiObject;
  readonly controllers: readonly ExplainedController[];
  readonly mayReadControllers: boolean;
  readonly conditions: readonly Condition[];
  readonly observed: number | undefined;
  readonly finalizers: Explanation['finalizers'];
  readonly nowMs: number;
}

/**
 * Returns the state and the summary for the first check that applies. The order of the checks matters, because one
 * state can be the cause of another that is checked later: an object that is paused, for example, is often not ready.
 */
function judge(facts: Facts): Pick<Explanation, 'state' | 'summary'> {
  const { object, controllers, conditions, observed, finalizers, nowMs } = facts;
  const { kind, metadata } = object;
  const what = `${kind} ${formatKey(keyOf(object))}`;
  const { deletionTimestamp, generation } = metadata;
  if (deletionTimestamp !== undefined) {
    const since = formatAge(nowMs - Date.parse(deletionTimestamp));
    const held =
      finalizers.length === 1 ? 'a finalizer keeps the object' : `${finalizers.length} finalizers keep the object`;
    return { state: 'Deleting', summary: `${what} was deleted ${since} ago, and ${held}.` };
  }
  const paused = controllers.filter((each) => each.paused);
  if (paused.length > 0) {
    const names = namesOf(paused);
    return { state: 'Paused', summary: `${what} is paused: ${names} ${agree(paused, 'does', 'do')} not reconcile it.` };
  }
  const failing = controllers.find(({ key }) => isFailing(key));
  if (failing !== undefined) {
    const { key, controller } = failing;
    return { state: 'Failing', summary: `${controller} fails to reconcile ${what}${failureOf(key, nowMs)}.` };
  }
  if (observed !== undefined && observed < generation) {
    const summary = `The status of ${what} describes generation ${observed}; its spec has generation ${generation}.`;
    return { state: 'Behind', summary };
  }
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (ready === undefined) return withoutReady(what, facts);
  if (ready.status === 'True') return { state: 'Ready', summary: `${what} is ready.` };
  return { state: 'NotReady', summary: `${what} is not ready: ${reasonOf(ready)}.` };
}

function withoutReady(
  what: string,
  { controllers, mayReadControllers }: Facts,
): Pick<Explanation, 'state' | 'summary'> {
  if (!mayReadControllers) return { state: 'Unknown', summary: `${what} has no condition Ready.` };
  if (controllers.length === 0)
    return { state: 'Unknown', summary: `${what} has no condition Ready, and no known controller reconciles it.` };
  const busy = controllers.find(({ key }) => key !== undefined && key.state !== 'delayed');
  if (busy !== undefined)
    return {
      state: 'Unknown',
      summary: `${busy.controller} has ${what} in its queue, or is reconciling it now.`,
    };
  const stopped = controllers.filter(({ running }) => !running);
  if (stopped.length > 0) {
    const summary = `${what} has no condition Ready, and ${namesOf(stopped)} ${agree(stopped, 'does', 'do')} not run.`;
    return { state: 'Unknown', summary };
  }
  const failed = controllers.filter(({ lastRun }) => lastRun !== undefined && isError(lastRun.result));
  if (failed.length > 0) {
    const summary = `The last ${agree(failed, 'run', 'runs')} for ${what} failed in ${namesOf(failed)}.`;
    return { state: 'Unknown', summary };
  }
  const has = agree(controllers, 'has', 'have');
  return { state: 'Reconciled', summary: `${what} is reconciled: ${namesOf(controllers)} ${has} no work for it.` };
}

/** Returns the names of controllers as a part of a sentence: `a`, `a and b`, `a, b and c`. */
function namesOf(controllers: readonly ExplainedController[]): string {
  const names = controllers.map(({ controller }) => controller);
  const [last = ''] = names.slice(-1);
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`;
}

/** Returns the word that agrees with the number of controllers. */
function agree({ length }: readonly ExplainedController[], singular: string, plural: string): string {
  return length === 1 ? singular : plural;
}

function isError(result: string): boolean {
  return result === 'error' || result === 'terminal' || result === 'timeout';
}

function reasonOf({ status, reason, message }: Condition): string {
  return [`Ready is ${status}`, reason, message].filter((part) => part !== '').join(', ');
}

function controllersOf({ object, controllers, runs }: KnownObject): readonly ExplainedController[] {
  const group = groupOf(object.apiVersion);
  const own = (controllers ?? []).filter(
    ({ spec: { reconciles } }) => reconciles.kind === object.kind && groupOf(reconciles.apiVersion) === group,
  );
  const name = formatKey(keyOf(object));
  return own.map(({ spec: { controller }, status }) => {
    const key = status?.keys.find((each) => each.key === name);
    const last = newestOf(runs ?? [], controller);
    return {
      controller,
      running: status?.running === true,
      paused: isPaused(object, controller.slice(controller.lastIndexOf('/') + 1)),
      ...(key === undefined || key.state === 'paused' ? {} : { key }),
      ...(last === undefined ? {} : { lastRun: lastRunOf(last) }),
    };
  });
}

function newestOf(runs: readonly Run[], controller: string): Run | undefined {
  const own = runs.filter((run) => run.controller === controller);
  return own.toSorted((a, b) => b.startTime.localeCompare(a.startTime))[0];
}

function lastRunOf({ metadata, startTime, result, error, triggers }: Run): NonNullable<ExplainedController['lastRun']> {
  const failure = error === undefined ? {} : { error: error.message };
  return { name: metadata.name, startTime, result, ...failure, triggers };
}

function conditionsOf(object: ApiObject): readonly Condition[] {
  const status: unknown = Reflect.get(object, 'status');
  const conditions: unknown = isJsonObject(status) ? status['conditions'] : undefined;
  if (!Array.isArray(conditions)) return [];
  return conditions.filter((each): each is Condition => isJsonObject(each) && typeof each['type'] === 'string');
}

function observedGenerationOf(object: ApiObject, conditions: readonly Condition[]): number | undefined {
  const status: unknown = Reflect.get(object, 'status');
  const own: unknown = isJsonObject(status) ? status['observedGeneration'] : undefined;
  if (typeof own === 'number') return own;
  const observed = conditions.flatMap(({ observedGeneration }) => observedGeneration ?? []);
  return observed.length === 0 ? undefined : Math.max(...observed);
}

function detailsOf(
  { object, controllers: known, runs, owners, nowMs }: KnownObject,
  { controllers, conditions }: Pick<Facts, 'controllers' | 'conditions'>,
): readonly string[] {
  const stopped = controllers.filter(({ running }) => !running).map(({ controller }) => `${controller} does not run.`);
  const paused = object.metadata.annotations?.[pausedAnnotation];
  const lasts = controllers.flatMap(({ controller, lastRun }) =>
    lastRun === undefined ? [] : [lastRunSentence(controller, lastRun, nowMs)],
  );
  const unmet = conditions
    .filter(({ type, status }) => type !== 'Ready' && status === 'False')
    .map(
      ({ type, reason, message }) => `${type} is False: ${[reason, message].filter((part) => part !== '').join(', ')}.`,
    );
  return [
    ...stopped,
    ...(paused === undefined ? [] : [`The annotation ${pausedAnnotation} is "${paused}".`]),
    ...unmet,
    ...lasts,
    ...owners.map(ownerSentence),
    ...(known === undefined ? ['You may not read controllers, so their queues are not explained.'] : []),
    ...(runs === undefined ? ['You may not read runs, so they are not explained.'] : []),
  ];
}

function lastRunSentence(
  controller: string,
  { startTime, result, error, triggers }: NonNullable<ExplainedController['lastRun']>,
  nowMs: number,
): string {
  const ago = formatAge(nowMs - Date.parse(startTime));
  const [trigger] = triggers;
  const by = trigger?.manager === undefined ? '' : ` by ${trigger.manager}`;
  const why = trigger === undefined ? '' : `, because of ${[trigger.type, trigger.detail].join(' ').trim()}${by}`;
  const ended = error === undefined ? `ended with ${result}` : `ended with ${result}: ${error}`;
  return `The last run of ${controller} began ${ago} ago${why}, and ${ended}.`;
}

function ownerSentence({ owner, controller, exists }: ExplainedOwner): string {
  const name = `${owner.kind} ${owner.name}`;
  const owned = controller ? `The object is controlled by its owner ${name}` : `The object is owned by ${name}`;
  return exists === false ? `${owned}, which does not exist.` : `${owned}.`;
}

function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}
