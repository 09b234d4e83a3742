/**
 * The HTTP status code of each reason (Kubernetes `metav1.StatusReason`). docs/reference/errors.md is generated from
 * the comments of the reasons.
 */
export const statusCodes = {
  /**
   * The server cannot read the request: its body, a parameter, a header or a selector is malformed, or a list selects
   * or sorts by a field without an index; or a webhook refuses the write, and its response has no status code. Cure:
   * correct what the message names; declare an index for the field.
   */
  BadRequest: 400,
  /**
   * The request has no credential, or its credential is wrong, revoked or expired. Cure: send a token or a client
   * certificate; get another one when it has expired.
   */
  Unauthorized: 401,
  /**
   * No rule allows the user to send the request; or a hook, a webhook or an admission policy refuses the write; or a
   * quota is used up; or the namespace is being deleted; or the Host of the request is unknown; or a page of another
   * site has sent a write; or the server never allows the request, for example to delete the namespace `default`. Cure:
   * grant the permission, or do what the message says; for an unknown Host, start the server with `--host-name`.
   */
  Forbidden: 403,
  /**
   * There is no such object, kind or path. Cure: check name, namespace, plural, group and version; `homeostat
   * api-resources` lists the kinds.
   */
  NotFound: 404,
  /**
   * The path exists, but does not support the method; or the definition of the kind is being deleted, so no objects can
   * be created. Cure: use a method that the header Allow lists.
   */
  MethodNotAllowed: 405,
  /**
   * The server cannot respond in a media type of the header Accept. Cure: accept a media type that the message lists.
   */
  NotAcceptable: 406,
  /**
   * An object of this name exists. Cure: change it instead, or choose another name; `generateName` lets the server
   * choose one.
   */
  AlreadyExists: 409,
  /**
   * The object has changed since it was read; or a server-side apply sets fields of another manager; or the writer is
   * no longer the leader. The message and the causes say which. Cure: if the object has changed, read it again, and
   * repeat the change; if another manager owns the fields, leave them out, or apply with `force=true`; a former leader
   * takes part in the next election.
   */
  Conflict: 409,
  /**
   * The server has deleted changes that the watch or the list needs; or the `continue` token is from an earlier epoch
   * of the database; or the watched kind is no longer served. Cure: list again, and watch from the revision of the
   * list.
   */
  Expired: 410,
  /** Other servers and webhooks send Gone where this server sends Expired. Cure: list again. */
  Gone: 410,
  /**
   * The body of the request, the object, or the work that the request causes exceeds a limit. Cure: send less; split
   * the object, or the request.
   */
  RequestEntityTooLarge: 413,
  /**
   * The server cannot read a body of this Content-Type or Content-Encoding. Cure: send a type that the message lists.
   */
  UnsupportedMediaType: 415,
  /**
   * The object breaks its schema, a rule or a unique index; or a hook of a plugin, a webhook or an admission policy
   * refuses the object; or a patch cannot be applied. Cure: correct each field that the causes name.
   */
  Invalid: 422,
  /**
   * A limit is reached: too many requests of this user wait, too many writes wait, or too many watches are open; or one
   * address has too many connections without a credential; or too many logins failed or wait; or a backup, an export, a
   * re-encryption, or the installation or removal of a plugin is already under way. Cure: retry after the time of the
   * header Retry-After; use fewer watches and connections.
   */
  TooManyRequests: 429,
  /**
   * A bug of the server or of a plugin; or a webhook whose call failed; or a stored object that is damaged or cannot be
   * converted; or a client got a response that it cannot read. Cure: correct what the message names, or look up its
   * request id in the log.
   */
  InternalError: 500,
  /**
   * The server cannot serve the request now: it starts or stops; or it is still indexing the kind; or the plugin or the
   * definition of the kind is not there yet; or the database cannot be read or written; or responses that clients have
   * not read take too much memory; or a write cannot be audited. The server stores nothing for such a request. But if a
   * plugin stops while one of its endpoints handles the request, the endpoint may already have stored objects. A client
   * reports a lost connection with this reason, too; then a write may be stored. Cure: retry after the time of the
   * header Retry-After; `/readyz?verbose` shows the reason.
   */
  ServiceUnavailable: 503,
  /**
   * A time limit has passed: the database has not confirmed a write, a hook or an endpoint has not returned, the server
   * has not reached a requested revision, the request has not arrived completely (code 408), or a plugin has not
   * stopped. A client reports this reason, too, if no response arrives in time. Cure: read the object before you repeat
   * a write, because the write may be stored.
   */
  Timeout: 504,
  /**
   * The memory of the server is full, so it refuses creations and updates that make an object larger; or the disk has
   * no space for a backup. Cure: delete objects, or give the server more memory or disk space.
   */
  InsufficientStorage: 507,
} as const;

export type StatusReason = keyof typeof statusCodes;

/** The reason of one cause of an error, mostly of one field that breaks a rule (Kubernetes `metav1.CauseType`). */
export type CauseReason =
  /** A required field is absent or empty. Cure: set it. */
  | 'FieldValueRequired'
  /** The value breaks a rule of its schema or a rule between fields. Cure: follow the rule in the message. */
  | 'FieldValueInvalid'
  /** The value does not have the type in the schema. Cure: send a value of the type that the message names. */
  | 'FieldValueTypeInvalid'
  /**
   * The field has a list of allowed values, which does not contain the value. Cure: use a value that the message lists.
   */
  | 'FieldValueNotSupported'
  /**
   * The value occurs twice in a list, or another object already has this value under a unique index. Cure: use another
   * value.
   */
  | 'FieldValueDuplicate'
  /** The field may not be set or changed here. Cure: leave it out, or send the stored value. */
  | 'FieldValueForbidden'
  /** The text is longer than allowed. Cure: shorten it. */
  | 'FieldValueTooLong'
  /** The list has more items than allowed. Cure: send fewer. */
  | 'FieldValueTooMany'
  /** The field refers to something that does not exist. Cure: create it first, or correct the reference. */
  | 'FieldValueNotFound'
  /** Another field manager has set the field. Cure: leave the field out, or apply with `force=true`. */
  | 'FieldManagerConflict'
  /**
   * The writer is no longer the leader: its term is over, and another process may lead. Cure: take part in the next
   * election.
   */
  | 'FormerLeader'
  /** The namespace is being deleted. Cure: wait until it is gone, or use another namespace. */
  | 'NamespaceTerminating'
  /** The server has not reached the requested revision yet. Cure: retry after the time of the header Retry-After. */
  | 'ResourceVersionTooLarge'
  /**
   * A client in Go received a response that is not from an API server, such as that of a proxy. Cure: check the address
   * of the server.
   */
  | 'UnexpectedServerResponse';

/** One cause of an error: the field, and the rule that it breaks. The message does not repeat the field's path. */
export interface FieldCause {
  readonly reason: CauseReason;
  readonly message: string;
  /** Path such as `spec.tags[1]` or `metadata.name`. */
  readonly field?: string;
}

/**
 * The response to every request that failed, and to some that succeeded, such as a deletion that removed the object.
 */
export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: StatusReason;
  readonly details?: {
    readonly name?: string;
    readonly group?: string;
    readonly kind?: string;
    readonly uid?: string;
    readonly causes?: readonly FieldCause[];
    readonly retryAfterSeconds?: number;
  };
  readonly code?: number;
}
