import { isApiError } from '@homeostat/controller-runtime/api';
import type { Attributes, ResourceAttributes } from '../authorization/attributes.ts';
import type { Decision } from '../authorization/authorizer.ts';
import type { UserInfo } from '../identity/user-info.ts';
import type { AuditLevel, AuditStage } from './audit-policy.ts';
import { clipped } from './secret-bodies.ts';

/** The response, as an entry shows it. */
export interface AuditedResponse {
  readonly code: number;
  /** The reason of a refusal. */
  readonly reason?: string;
  readonly message?: string;
}

/** Returns how an entry shows a request that failed; the text of an error that is a bug is left out. */
export function refusalOf(error: unknown): AuditedResponse {
  if (!isApiError(error)) return { code: 500, reason: 'InternalError', message: 'Internal error occurred' };
  return { code: error.code, reason: error.reason, message: error.message };
}

/** One moment of one request. */
export interface AuditMoment {
  readonly level: AuditLevel;
  readonly stage: AuditStage;
  readonly auditId: string;
  readonly uri: string;
  readonly userAgent: string;
  /** undefined for the call of a client in the server's process, since it comes from no address. */
  readonly address: string | undefined;
  readonly attributes: Attributes;
  /** The name of a created object, which the path of the request does not contain. */
  readonly createdName?: string | undefined;
  /** undefined when no user was found. */
  readonly user: UserInfo | undefined;
  readonly impersonatedUser?: UserInfo | undefined;
  readonly decision?: Decision | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly receivedMs: number;
  readonly stageMs: number;
  /** Time from the request's arrival to this moment. */
  readonly latencyMs: number;
  readonly response?: AuditedResponse | undefined;
  /** JSON. */
  readonly requestObject?: string | undefined;
  /** JSON. */
  readonly responseObject?: string | undefined;
}

const maxAgentLength = 256;
const maxMessageLength = 1024;

/** A cache: there are few users, and each is the same object at every request. */
const knownSenders = new WeakMap<UserInfo, Sender>();

/** The JSON of a user in entries, and the address and user agent of its last request. */
interface Sender {
  readonly user: string;
  address: string | undefined;
  userAgent: string;
  /** The JSON of the address and the user agent. */
  source: string;
}

/**
 * Returns the entry of audit.k8s.io/v1, as one line of JSON with its end. Written by hand, since JSON.stringify of
 * the whole takes twice as long. It joins few parts, many of which entries share, because joining each part takes
 * time, too.
 */
export function auditLine(moment: AuditMoment): string {
  const { level, stage, auditId, uri, attributes, impersonatedUser, response } = moment;
  const sender = senderOf(moment);
  return (
    `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"${level}","auditID":"${auditId}","stage":"${stage}"` +
    `,"requestURI":${JSON.stringify(uri)},"verb":${JSON.stringify(attributes.verb)},"user":${sender.user}` +
    (impersonatedUser === undefined ? '' : `,"impersonatedUser":${userJson(impersonatedUser)}`) +
    `${sender.source}${attributes.isResource ? objectRef(attributes, moment.createdName) : ''}` +
    (response === undefined ? '' : `,"responseStatus":${statusJson(response)}`) +
    (moment.requestObject === undefined ? '' : `,"requestObject":${moment.requestObject}`) +
    (moment.responseObject === undefined ? '' : `,"responseObject":${moment.responseObject}`) +
    `,"requestReceivedTimestamp":"${receivedTime.of(moment.receivedMs)}","stageTimestamp":"${stageTime.of(moment.stageMs)}"` +
    `,"annotations":{${annotationsJson(moment)}}}\n`
  );
}

function senderOf({ user, address, userAgent }: AuditMoment): Sender {
  let sender = user === undefined ? undefined : knownSenders.get(user);
  if (sender === undefined) {
    sender = { user: userJson(user), ...sourceOf(address, userAgent) };
    if (user !== undefined) knownSenders.set(user, sender);
  } else if (sender.address !== address || sender.userAgent !== userAgent) {
    Object.assign(sender, sourceOf(address, userAgent));
  }
  return sender;
}

function sourceOf(address: string | undefined, userAgent: string): Omit<Sender, 'user'> {
  const addresses = address === undefined ? '[]' : JSON.stringify([address]);
  const agent = JSON.stringify(clipped(userAgent, maxAgentLength));
  return { address, userAgent, source: `,"sourceIPs":${addresses},"userAgent":${agent}` };
}

function userJson(user: UserInfo | undefined): string {
  if (user === undefined) return '{}';
  const { username, uid, groups, extra } = user;
  return JSON.stringify({ username, uid, groups, extra });
}

/** The part of an object's reference that all objects of a kind and namespace share. */
interface KnownPlace {
  readonly group: string;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly subresource: string | undefined;
  readonly json: string;
}

/** The known places by plural. Their number is bounded, because a client may name any plural. */
const knownPlaces = new Map<string, KnownPlace>();
const maxKnownPlaces = 1000;

function objectRef(attributes: ResourceAttributes, createdName: string | undefined): string {
  const { name = createdName } = attributes;
  const { json } = placeOf(attributes);
  return name === undefined ? `${json}}` : `${json},"name":${JSON.stringify(name)}}`;
}

function placeOf({ resource, group, version, namespace, subresource }: ResourceAttributes): KnownPlace {
  let place = knownPlaces.get(resource);
  if (
    place === undefined ||
    place.group !== group ||
    place.version !== version ||
    place.namespace !== namespace ||
    place.subresource !== subresource
  ) {
    const apiGroup = group === '' ? undefined : group;
    const ref = JSON.stringify({ resource, namespace, apiGroup, apiVersion: version, subresource });
    place = { group, version, namespace, subresource, json: `,"objectRef":${ref.slice(0, -1)}` };
    if (knownPlaces.size >= maxKnownPlaces) knownPlaces.clear();
    knownPlaces.set(resource, place);
  }
  return place;
}

function statusJson({ code, reason, message }: AuditedResponse): string {
  if (reason === undefined) return `{"metadata":{},"code":${code}}`;
  const text = clipped(message ?? '', maxMessageLength);
  return JSON.stringify({ metadata: {}, status: 'Failure', message: text, reason, code });
}

/** The JSON of each decision: a rule returns the same object for all its decisions, so each is written once. */
const knownDecisions = new WeakMap<Decision, string>();

/**
 * Returns the annotations of the request, followed by the server's own, whose names differ from those of the request.
 */
function annotationsJson({ decision, annotations, stage, latencyMs }: AuditMoment): string {
  let json = annotations === undefined ? '' : JSON.stringify(annotations).slice(1, -1);
  if (decision !== undefined) json += `${json === '' ? '' : ','}${decisionJson(decision)}`;
  if (stage !== 'RequestReceived')
    json += `${json === '' ? '' : ','}"apiserver.latency.k8s.io/total":"${latencyMs.toFixed(3)}ms"`;
  return json;
}

function decisionJson(decision: Decision): string {
  let json = knownDecisions.get(decision);
  if (json === undefined) {
    const { allowed, reason } = decision;
    json =
      `"authorization.k8s.io/decision":"${allowed ? 'allow' : 'forbid'}"` +
      `,"authorization.k8s.io/reason":${JSON.stringify(reason)}`;
    knownDecisions.set(decision, json);
  }
  return json;
}

/** Formats times as RFC 3339 with microseconds, as Kubernetes does; the server's clock has milliseconds. */
class TimeFormat {
  // Several requests share a millisecond, and formatting a time takes a microsecond.
  #ms = Number.NaN;
  #text = '';

  of(ms: number): string {
    if (ms !== this.#ms) {
      this.#text = `${new Date(ms).toISOString().slice(0, -1)}000Z`;
      this.#ms = ms;
    }
    return this.#text;
  }
}

/**
 * Each formatter caches its last time, and requests end in another order than they arrive. So the times of arrival have
 * a formatter of their own.
 */
const receivedTime = new TimeFormat();
const stageTime = new TimeFormat();
