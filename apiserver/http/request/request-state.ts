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
 * The data for a request's audit entry, which the handlers of the request add. All fields exist from the beginning,
 * because a property that is added to an object later changes the object's hidden class in V8.
 */
export interface AuditNotes {
  decision: Decision | undefined;
  /** The user that a client names at a login, even if the login fails. */
  claimedUser: UserInfo | undefined;
  body: BodySource | undefined;
  annotations: Readonly<Record<string, string>> | undefined;
}

/** The state of an audited request. */
export interface AuditedRequest {
  readonly notes: AuditNotes;
  readonly receivedMs: number;
  readonly sinceMs: number;
}

/**
 * The data about a request. The functions that read or write a field explain it. All fields exist from the beginning,
 * because a property that is added to an object later changes the object's hidden class in V8.
 */
interface RequestState {
  id: string;
  /** Node's response, for code that only observes it. Code that changes or writes the response uses `context.res`. */
  readonly outgoing: ServerResponse;
  /**
   * The parsed path. `null` when it is not the path of an object or a collection; undefined before it has been parsed.
   */
  path: ResourcePath | null | undefined;
  asked: Attributes | undefined;
  /**
   * The path, once its kind has been found. Metrics take their labels from it, so that clients cannot invent labels.
   */
  servedPath: ResourcePath | undefined;
  caller: UserInfo | undefined;
  impersonator: UserInfo | undefined;
  grants: readonly RequestGrant[] | undefined;
  query: QueryParameters | undefined;
  isCurrent: boolean;
  audited: AuditedRequest | undefined;
  /** The name of the object that the request created. */
  createdName: string | undefined;
  /**
   * The warnings of a write that has not succeeded yet. If the write is refused, the response shows them, too, as in
   * Kubernetes.
   */
  warnings: readonly string[];
}

declare module 'koa' {
  interface DefaultState extends RequestState {}
}

const noWarnings: readonly string[] = [];

/** Returns the state of a request that has just arrived. It replaces koa's state. */
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

/** Sets the user of a request. */
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

/** Lets a request run as another user. {@link impersonatorOf} then returns the user who sent the request. */
export function setImpersonated(context: Context, user: UserInfo): void {
  context.state.impersonator = callerOf(context);
  setCaller(context, user);
}

/** Returns the user who sent a request that runs as another user; undefined for a request that runs as its own user. */
export function impersonatorOf(context: Context): UserInfo | undefined {
  return context.state.impersonator;
}

/** Returns a function that adds an annotation to a request's audit entry; undefined when the request is not audited. */
export function annotatorOf(context: Context): ((key: string, value: string) => void) | undefined {
  const notes = auditNotesOf(context);
  if (notes === undefined) return undefined;
  return (key, value) => {
    notes.annotations = { ...notes.annotations, [key]: value };
  };
}

/** Returns the notes for a request's audit entry; undefined when the request is not audited. */
export function auditNotesOf(context: Context): AuditNotes | undefined {
  return context.state.audited?.notes;
}
