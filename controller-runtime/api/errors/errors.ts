import type { FieldCause, Status, StatusReason } from './status.ts';
import { statusCodes } from './status.ts';

export interface ApiErrorOptions {
  readonly cause?: unknown;
  /**
   * The object that the error is about. `kind` is the plural of the object's kind; for the reason Invalid, it is the
   * kind itself.
   */
  readonly details?: { readonly name?: string; readonly group?: string; readonly kind?: string; readonly uid?: string };
  readonly causes?: readonly FieldCause[];
  /** The value of the header Retry-After, in whole seconds. */
  readonly retryAfterSeconds?: number;
}

/**
 * The only error class of the API. Distinguish errors by their {@link reason}, or with functions such as isNotFound,
 * and never with instanceof: a plugin may bring a second copy of this package.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly reason: StatusReason;
  readonly code: number;
  readonly details: NonNullable<ApiErrorOptions['details']>;
  readonly causes: readonly FieldCause[];
  readonly retryAfterSeconds: number | undefined;

  constructor(reason: StatusReason, message: string, options: ApiErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
    this.code = statusCodes[reason];
    this.details = options.details ?? {};
    this.causes = options.causes ?? [];
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  /** The Status object, as it is sent to clients. */
  toStatus(): Status {
    const { retryAfterSeconds } = this;
    const details = {
      ...this.details,
      ...(this.causes.length > 0 ? { causes: this.causes } : {}),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    };
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      ...(Object.keys(details).length > 0 ? { details } : {}),
      code: this.code,
    };
  }

  /** Makes the error for a Status that a server has sent. */
  static fromStatus(status: Status): ApiError {
    const { causes, retryAfterSeconds, ...details } = status.details ?? {};
    const reason =
      status.reason !== undefined && status.reason in statusCodes ? status.reason : reasonOfCode(status.code ?? 500);
    return new ApiError(reason, status.message ?? reason, {
      details,
      ...(causes === undefined ? {} : { causes }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    });
  }
}

/**
 * Returns the first reason in {@link statusCodes} with an HTTP status code, such as AlreadyExists for 409;
 * InternalError for a code without a reason.
 */
export function reasonOfCode(code: number): StatusReason {
  const [reason = ''] = Object.entries(statusCodes).find(([, candidate]) => candidate === code) ?? [];
  return isKnownReason(reason) ? reason : 'InternalError';
}

function isKnownReason(reason: string): reason is StatusReason {
  return Object.hasOwn(statusCodes, reason);
}

/**
 * Returns the reason of an API error, also of one that another copy of this package made; undefined for any other
 * value.
 */
export function reasonOf(error: unknown): StatusReason | undefined {
  if (!(error instanceof Error) || error.name !== 'ApiError' || !('reason' in error)) return undefined;
  return error.reason as StatusReason;
}

/** True for ApiErrors of any copy of this package. */
export function isApiError(error: unknown): error is ApiError {
  return reasonOf(error) !== undefined;
}

export function isNotFound(error: unknown): boolean {
  return reasonOf(error) === 'NotFound';
}

/**
 * Returns undefined for a NotFound error, and throws every other error unchanged. Use it in the `catch` of a read or a
 * deletion. It does what IgnoreNotFound of client-go does.
 */
export function ignoreNotFound(error: unknown): undefined {
  if (isNotFound(error)) return undefined;
  throw error;
}

export function isConflict(error: unknown): boolean {
  return reasonOf(error) === 'Conflict';
}

/**
 * True for the error of a write by a leader whose term is over (409, cause FormerLeader). Nothing was written, and the
 * server will also refuse later writes of this leader.
 */
export function isFormerLeader(error: unknown): boolean {
  return isApiError(error) && isConflict(error) && error.causes.some(({ reason }) => reason === 'FormerLeader');
}

export function isAlreadyExists(error: unknown): boolean {
  return reasonOf(error) === 'AlreadyExists';
}

export function isInvalid(error: unknown): boolean {
  return reasonOf(error) === 'Invalid';
}

/** True when the server no longer has the requested history (410). The caller has to list again. */
export function isExpired(error: unknown): boolean {
  const reason = reasonOf(error);
  return reason === 'Expired' || reason === 'Gone';
}
