import type { Context } from 'koa';
import type { UserInfo } from '../../identity/user-info.ts';
import type { AuditNotes } from './request-state.ts';

/** Notes the user of a request. */
export function setCaller(context: Context, user: UserInfo): void {
  context.state.caller = user;
}

/** Returns the user of a request. @throws Error when the request has not been authenticated, which is a bug */
export function callerOf(context: Context): UserInfo {
  const user = context.state.caller;
  if (user === undefined) throw new Error('a request was handled before its user was known');
  return user;
}

/** Returns the user of a request; undefined when it has not been authenticated, or authentication failed. */
export function knownCaller(context: Context): UserInfo | undefined {
  return context.state.caller;
}

/** Lets a request run as another user; its own is kept for the audit log. */
export function setImpersonated(context: Context, user: UserInfo): void {
  context.state.impersonator = callerOf(context);
  setCaller(context, user);
}

/** Returns the user who sent a request that runs as another; undefined for one that runs as its own. */
export function impersonatorOf(context: Context): UserInfo | undefined {
  return context.state.impersonator;
}

/** Returns a function that adds to the annotations of a request's audit entry; undefined when it is not audited. */
export function annotatorOf(context: Context): ((key: string, value: string) => void) | undefined {
  const notes = auditNotesOf(context);
  if (notes === undefined) return undefined;
  return (key, value) => {
    notes.annotations = { ...notes.annotations, [key]: value };
  };
}

/** Returns the notes for a request's audit entry; undefined when it is not audited. */
export function auditNotesOf(context: Context): AuditNotes | undefined {
  return context.state.audited?.notes;
}
