/** HTTP status code of each reason (Kubernetes `metav1.StatusReason`). */
export const statusCodes = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  Gone: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
  InsufficientStorage: 507,
} as const;

export type StatusReason = keyof typeof statusCodes;

/** Reasons of one violated field (Kubernetes `metav1.CauseType`). */
export type CauseReason =
  | 'FieldValueRequired'
  | 'FieldValueInvalid'
  | 'FieldValueTypeInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueDuplicate'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueNotFound'
  | 'FieldManagerConflict'
  | 'FormerLeader'
  | 'NamespaceTerminating'
  | 'ResourceVersionTooLarge'
  | 'UnexpectedServerResponse';

/** One violation: which field, which rule, in words without the field's path. */
export interface FieldCause {
  readonly reason: CauseReason;
  readonly message: string;
  /** Path such as `spec.tags[1]` or `metadata.name`. */
  readonly field?: string;
}

/** The response to every request that failed, and to deletions after which no object is left. */
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
