import { isArray, isObject, textOf } from '../base/json.ts';
import type { JsonObject } from '../base/json.ts';

/** A problem of one field, from the details of a Status. */
export interface FieldCause {
  readonly field: string;
  readonly message: string;
  readonly reason: string;
}

/** The failure of a request. The status is 0 if there was no response. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';
  readonly status: number;
  /** The reason of Kubernetes' Status, such as `NotFound`; `Unreachable` without a response. */
  readonly reason: string;
  readonly causes: readonly FieldCause[];

  constructor(
    message: string,
    { status, reason, causes = [] }: { status: number; reason: string; causes?: readonly FieldCause[] },
  ) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.causes = causes;
  }
}

export function failureOf(code: number, body: unknown): ApiFailure {
  const status = isObject(body) ? body : {};
  const details = isObject(status.details) ? status.details : {};
  const causes = (isArray(details.causes) ? details.causes : []).filter(isObject).map(causeOf);
  const message = textOf(status.message);
  return new ApiFailure(message === '' ? `the server responded with ${code}` : message, {
    status: typeof status.code === 'number' ? status.code : code,
    reason: textOf(status.reason),
    causes,
  });
}

function causeOf({ field, message, reason }: JsonObject): FieldCause {
  return { field: textOf(field), message: textOf(message), reason: textOf(reason) };
}

/** Converts any error to a failure. */
export function toFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ApiFailure(message, { status: 0, reason: 'Failed' });
}
