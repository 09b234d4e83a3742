import { isApiError } from '@homeostat/controller-runtime/api';
import type { Attributes } from '../authorization/attributes.ts';
import type { Decision } from '../authorization/authorizer.ts';
import type { UserInfo } from '../identity/user-info.ts';
import type { AuditLevel, AuditStage } from './audit-policy.ts';
import { clipped } from './secret-bodies.ts';

/** The response, as an entry shows it. */
export interface AuditedResponse {
  readonly code: number;
  /** For a refusal. */
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
  /** undefined: the call of a client in the server's process, which comes from no address. */
  readonly address: string | undefined;
  readonly attributes: Attributes;
  /** The name of an object that was created, which its path does not have. */
  readonly createdName?: string | undefined;
  /** undefined: no user was found. */
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

/** Users are few, and the same objects at each of their requests. */
const knownUsers = new WeakMap<UserInfo, string>();

/**
 * Returns the entry of audit.k8s.io/v1, as one line of JSON with its end. Written by hand, since JSON.stringify of the whole
 * takes twice as long.
 */
export function auditLine(moment: AuditMoment): string {
  const { level, stage, auditId, uri, attributes, user, impersonatedUser, address, response } = moment;
  return (
    `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"${level}","auditID":"${auditId}","stage":"${stage}"` +
    `,"requestURI":${JSON.stringify(uri)},"verb":${JSON.stringify(attributes.verb)},"user":${userJson(user)}` +
    (impersonatedUser === undefined ? '' : `,"impersonatedUser":${userJson(impersonatedUser)}`) +
    `,"sourceIPs":${address === undefined ? '[]' : JSON.stringify([address])},"userAgent":${JSON.stringify(clipped(moment.userAgent, maxAgentLength))}` +
    objectRef(attributes, moment.createdName) +
    (response === undefined ? '' : `,"responseStatus":${statusJson(response)}`) +
    (moment.requestObject === undefined ? '' : `,"requestObject":${moment.requestObject}`) +
    (moment.responseObject === undefined ? '' : `,"responseObject":${moment.responseObject}`) +
    `,"requestReceivedTimestamp":"${microTime(moment.receivedMs)}","stageTimestamp":"${microTime(moment.stageMs)}"` +
    `,"annotations":${annotationsJson(moment)}}\n`
  );
}

function userJson(user: UserInfo | undefined): string {
  if (user === undefined) return '{}';
  let json = knownUsers.get(user);
  if (json === undefined) {
    const { username, uid, groups, extra } = user;
    json = JSON.stringify({ username, uid, groups, extra });
    knownUsers.set(user, json);
  }
  return json;
}

function objectRef(attributes: Attributes, createdName: string | undefined): string {
  if (!attributes.isResource) return '';
  const { resource, namespace, name = createdName, group, version, subresource } = attributes;
  return (
    `,"objectRef":{"resource":${JSON.stringify(resource)}` +
    (namespace === undefined ? '' : `,"namespace":${JSON.stringify(namespace)}`) +
    (name === undefined ? '' : `,"name":${JSON.stringify(name)}`) +
    (group === '' ? '' : `,"apiGroup":${JSON.stringify(group)}`) +
    `,"apiVersion":${JSON.stringify(version)}` +
    (subresource === undefined ? '' : `,"subresource":${JSON.stringify(subresource)}`) +
    '}'
  );
}

function statusJson({ code, reason, message }: AuditedResponse): string {
  if (reason === undefined) return `{"metadata":{},"code":${code}}`;
  const text = clipped(message ?? '', maxMessageLength);
  return JSON.stringify({ metadata: {}, status: 'Failure', message: text, reason, code });
}

/** The annotations of the request come first; the others have names of their own. */
function annotationsJson({ decision, annotations, stage, latencyMs }: AuditMoment): string {
  let json = annotations === undefined ? '' : JSON.stringify(annotations).slice(1, -1);
  if (decision !== undefined) {
    const { allowed, reason } = decision;
    json +=
      `${json === '' ? '' : ','}"authorization.k8s.io/decision":"${allowed ? 'allow' : 'forbid'}"` +
      `,"authorization.k8s.io/reason":${JSON.stringify(reason)}`;
  }
  if (stage !== 'RequestReceived')
    json += `${json === '' ? '' : ','}"apiserver.latency.k8s.io/total":"${latencyMs.toFixed(3)}ms"`;
  return `{${json}}`;
}

let lastSecond = Number.NaN;
let lastText = '';

/** RFC 3339 with microseconds, as Kubernetes writes them; the server's clock has milliseconds. */
function microTime(ms: number): string {
  const second = Math.floor(ms / 1000);
  // The entries of a second share its text: a request has two moments, and formatting each takes a microsecond.
  if (second !== lastSecond) {
    lastText = new Date(second * 1000).toISOString().slice(0, -4);
    lastSecond = second;
  }
  return `${lastText}${String(Math.floor(ms) - second * 1000).padStart(3, '0')}000Z`;
}
