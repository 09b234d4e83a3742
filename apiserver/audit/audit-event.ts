import { isApiError } from '@homeostat/controller-runtime/api';
import type { Attributes, ResourceAttributes } from '../authorization/attributes.ts';
import type { Decision } from '../authorization/authorizer.ts';
import type { UserInfo } from '../identity/user-info.ts';
import type { AuditLevel, AuditStage } from './audit-policy.ts';
import { clipped } from './secret-bodies.ts';

/** The response of a request, as an audit entry shows it. */
export interface AuditedResponse {
  readonly code: number;
  /** The reason of the error, if the request failed. */
  readonly reason?: string;
  readonly message?: string;
}

/**
 * Returns the response of a failed request, as an audit entry shows it. If the error is a bug, its text is left out.
 */
export function refusalOf(error: unknown): AuditedResponse {
  if (!isApiError(error)) return { code: 500, reason: 'InternalError', message: 'Internal error occurred' };
  return { code: error.code, reason: error.reason, message: error.message };
}

/** One stage of one request, such as its arrival or its end, for which an entry may be written. */
export interface AuditMoment {
  readonly level: AuditLevel;
  readonly stage: AuditStage;
  readonly auditId: string;
  readonly uri: string;
  readonly userAgent: string;
  /** The address of the client; undefined for a call of a client in the server's process. */
  readonly address: string | undefined;
  readonly attributes: Attributes;
  /** The name of the created object, because the path of a request to create does not contain it. */
  readonly createdName?: string | undefined;
  /** The user of the request; undefined when the user is not known, for example because the credential was refused. */
  readonly user: UserInfo | undefined;
  readonly impersonatedUser?: UserInfo | undefined;
  readonly decision?: Decision | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly receivedMs: number;
  readonly stageMs: number;
  /** The time from the request's arrival to this stage. */
  readonly latencyMs: number;
  readonly response?: AuditedResponse | undefined;
  /** JSON. */
  readonly requestObject?: string | undefined;
  /** JSON. */
  readonly responseObject?: string | undefined;
}

const maxAgentLength = 256;
const maxMessageLength = 1024;

/**
 * A cache of the JSON of users. There are few users, and most are the same JavaScript object at each request of a
 * connection.
 */
const knownSenders = new WeakMap<UserInfo, Sender>();

/** The cached JSON that the audit entries of a user contain: the user, and the source of the user's last request. */
interface Sender {
  readonly user: string;
  address: string | undefined;
  userAgent: string;
  /** The JSON of the address and the user agent. */
  source: string;
}

/**
 * Returns the entry of audit.k8s.io/v1 as one line of JSON, with the end of the line. The text is joined from parts,
 * since JSON.stringify of the whole entry takes twice as long. Each join takes time, too, so the parts are few, and
 * cached parts are shared by many entries.
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

/** The JSON of `objectRef` without the name of the object. All objects of a kind and namespace share this JSON. */
interface KnownPlace {
  readonly group: string;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly subresource: string | undefined;
  readonly json: string;
}

/**
 * A cache of the JSON of `objectRef`, without the object's name: the last one for each plural. Its size is bounded,
 * because a client may name any plural.
 */
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

/**
 * A cache of the JSON of decisions. Until roles or bindings change, all requests that one binding allows to one of its
 * subjects have the same decision object, so its JSON is written once.
 */
const knownDecisions = new WeakMap<Decision, string>();

/** Returns the JSON of the request's annotations, followed by the annotations of the server. No name occurs in both. */
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

/**
 * Formats times as RFC 3339 with microseconds, as Kubernetes does. The last three digits are always 0, because the
 * server's clock has milliseconds.
 */
class TimeFormat {
  // Caches the text of the latest timestamp, because formatting takes a microsecond, and successive timestamps are
  // often in the same millisecond.
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
 * The formatters of the times of arrival, and of the times of stages. Each formatter caches only its last time.
 * Requests do not end in the order in which they arrive, so one formatter for both would rarely receive the same time
 * twice in a row.
 */
const receivedTime = new TimeFormat();
const stageTime = new TimeFormat();
