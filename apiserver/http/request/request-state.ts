import type { ServerResponse } from 'node:http';
import type { Context } from 'koa';
import type { Attributes } from '../../authorization/attributes.ts';
import type { Decision } from '../../authorization/authorizer.ts';
import type { BodySource } from '../../decode/body-codec.ts';
import type { UserInfo } from '../../identity/user-info.ts';
import type { QueryParameters } from './query.ts';
import type { ResourcePath } from './resource-path.ts';

/** A permission that was checked for a user. */
export interface RequestGrant {
  readonly user: UserInfo;
  readonly attributes: Attributes;
}

/**
 * Data for a request's audit entry, which the parts that handle the request add. All fields exist from the beginning,
 * as in {@link RequestState}, which has the reason.
 */
export interface AuditNotes {
  decision: Decision | undefined;
  /** The user that a client names at a login, whether or not the login succeeds. */
  claimedUser: UserInfo | undefined;
  body: BodySource | undefined;
  annotations: Readonly<Record<string, string>> | undefined;
}

/** A request while it is audited. */
export interface AuditedRequest {
  readonly notes: AuditNotes;
  readonly receivedMs: number;
  readonly sinceMs: number;
}

/**
 * The data about a request; the functions that read and write a field explain it. All fields exist from the beginning,
 * because each property that is added to an object later changes its hidden class.
 */
interface RequestState {
  id: string;
  /** Node's response, for code that only follows its progress. Code that changes or writes it uses `context.res`. */
  readonly outgoing: ServerResponse;
  /** `null` when the path cannot be an object's; undefined before the path has been parsed. */
  path: ResourcePath | null | undefined;
  asked: Attributes | undefined;
  /** Set once the kind of the path is found, so that no client can invent the labels of a metric. */
  servedPath: ResourcePath | undefined;
  caller: UserInfo | undefined;
  impersonator: UserInfo | undefined;
  grants: readonly RequestGrant[] | undefined;
  query: QueryParameters | undefined;
  isCurrent: boolean;
  audited: AuditedRequest | undefined;
  /** The name of the object that the request has created. */
  createdName: string | undefined;
  /** The warnings of a write that has not succeeded yet: its refusal shows them, too, as Kubernetes' does. */
  warnings: readonly string[];
}

declare module 'koa' {
  interface DefaultState extends RequestState {}
}

const noWarnings: readonly string[] = [];

/** Returns the state of a request that has just arrived, which replaces koa's. */
export function newState(outgoing: ServerResponse): RequestState {
  return {
    id: '',
    outgoing,
    path: undefined,
    asked: undefined,
    servedPath: undefined,
    caller: undefined,
    impersonator: undefined,
    grants: undefined,
    query: undefined,
    isCurrent: false,
    audited: undefined,
    createdName: undefined,
    warnings: noWarnings,
  };
}

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
