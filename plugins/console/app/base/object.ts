import { isArray, isObject, shownAs, textOf } from './json.ts';
import type { Json, JsonObject } from './json.ts';

/** An object of the API, as the server sends it. */
export interface ApiObject extends JsonObject {
  readonly metadata: JsonObject;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

/** True for a value with metadata. */
export function isApiObject(value: unknown): value is ApiObject {
  return isObject(value) && isObject(value.metadata);
}

export const nameOf = ({ metadata }: ApiObject): string => textOf(metadata.name);
export const namespaceOf = ({ metadata }: ApiObject): string => textOf(metadata.namespace);
export const uidOf = ({ metadata }: ApiObject): string => textOf(metadata.uid);

function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return isArray(value) ? value.filter(isObject) : [];
}

/** Returns the texts in a list of the metadata, such as the finalizers. */
export function textsIn(value: Json | undefined): readonly string[] {
  return isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

/** The entries of labels or annotations. */
export function entriesOf(value: Json | undefined): readonly (readonly [string, string])[] {
  return isObject(value) ? Object.entries(value).map(([key, each]) => [key, shownAs(each)] as const) : [];
}

export function ownersOf({ metadata }: ApiObject): readonly OwnerReference[] {
  return objectsIn(metadata.ownerReferences).map(({ apiVersion, kind, name, uid }) => ({
    apiVersion: textOf(apiVersion),
    kind: textOf(kind),
    name: textOf(name),
    uid: textOf(uid),
  }));
}

export function conditionsOf(object: ApiObject): readonly Condition[] {
  const status = isObject(object.status) ? object.status : {};
  return objectsIn(status.conditions).map((each) => ({
    type: textOf(each.type),
    status: textOf(each.status),
    reason: textOf(each.reason),
    message: textOf(each.message),
    lastTransitionTime: textOf(each.lastTransitionTime),
  }));
}

/** The entries of managedFields. */
export function managersOf({ metadata }: ApiObject): readonly JsonObject[] {
  return objectsIn(metadata.managedFields);
}

export type Health = 'ok' | 'progressing' | 'failing' | 'deleting';

/** The types of conditions that are bad when they are True. */
const badWhenTrue = /(fail|degrad|stall|error|pressure|unavailable)/i;
/**
 * The types of conditions that are bad when they are False. For any other type, False only means that something is
 * absent.
 */
const badWhenFalse = /^(ready|available|healthy|synced|valid|established|accepted|reconciled|applied|issued)/i;
const badPhase = /^(fail|error|crash|degraded|lost|unknown)/i;
const busyPhase = /^(pending|creating|starting|stopping|progress|provision|updating|waiting)/i;

/** True for a condition that means a failure. */
export function isBadCondition({ type, status }: Pick<Condition, 'type' | 'status'>): boolean {
  return badWhenTrue.test(type) ? status === 'True' : status === 'False' && badWhenFalse.test(type);
}

/**
 * Returns the health of an object from its own metadata and status: it is being deleted, it fails, its spec is not
 * carried out yet (`progressing`), or it is healthy.
 */
export function healthOf(object: ApiObject): Health {
  if (object.metadata.deletionTimestamp !== undefined) return 'deleting';
  const status = isObject(object.status) ? object.status : {};
  const conditions = conditionsOf(object);
  const phase = textOf(status.phase);
  if (conditions.some(isBadCondition) || badPhase.test(phase)) return 'failing';
  const { observedGeneration } = status;
  const { generation } = object.metadata;
  const isBehind =
    typeof observedGeneration === 'number' && typeof generation === 'number' && observedGeneration < generation;
  const isWaiting = conditions.some(({ status: each }) => each === 'Unknown');
  return isBehind || isWaiting || busyPhase.test(phase) ? 'progressing' : 'ok';
}
