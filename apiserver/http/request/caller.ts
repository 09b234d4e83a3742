import type { Context } from 'koa';
import type { Decision } from '../../authorization/authorizer.ts';
import type { BodySource } from '../../decode/body-codec.ts';
import type { UserInfo } from '../../identity/user-info.ts';

const key = 'caller';
const originalKey = 'impersonator';

declare module 'koa' {
  interface DefaultState {
    caller?: UserInfo;
    impersonator?: UserInfo;
    audit?: AuditNotes;
  }
}

/** Notes the user of a request. */
export function setCaller(context: Context, user: UserInfo): void {
  context.state[key] = user;
}

/** Returns the user of a request. @throws Error when the request has not been authenticated, which is a bug */
export function callerOf(context: Context): UserInfo {
  const user = context.state[key];
  if (user === undefined) throw new Error('a request was handled before its user was known');
  return user;
}

/** Returns the user of a request; undefined when it has not been authenticated, or authentication failed. */
export function knownCaller(context: Context): UserInfo | undefined {
  return context.state[key];
}

/** Lets a request run as another user; its own is kept for the audit log. */
export function setImpersonated(context: Context, user: UserInfo): void {
  context.state[originalKey] = callerOf(context);
  setCaller(context, user);
}

/** Returns the user who sent a request that runs as another; undefined for one that runs as its own. */
export function impersonatorOf(context: Context): UserInfo | undefined {
  return context.state[originalKey];
}

/** The notes of the handlers of a request for its audit entry. */
export interface AuditNotes {
  decision?: Decision;
  /** The user of a login, with the name that the client claims. */
  claimedUser?: UserInfo;
  body?: BodySource;
  annotations?: Record<string, string>;
}

const auditKey = 'audit';

/** Starts to collect notes; without this call, notes are dropped. */
export function startAuditNotes(context: Context): AuditNotes {
  const notes: AuditNotes = {};
  context.state[auditKey] = notes;
  return notes;
}

/** Adds to the notes of a request that is audited. */
export function noteForAudit(context: Context, notes: AuditNotes): void {
  const present = context.state[auditKey];
  if (present !== undefined) Object.assign(present, notes);
}
