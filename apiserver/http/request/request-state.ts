import type { ServerResponse } from 'node:http';
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
 * as in the state.
 */
export interface AuditNotes {
  decision: Decision | undefined;
  /** The user of a login, by the name that the client claims. */
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
}

declare module 'koa' {
  interface DefaultState extends RequestState {}
}

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
  };
}
