import { ApiError } from '../errors/errors.ts';
import type { ApiObject } from '../object/object.ts';
import type { CauseReason } from '../errors/status.ts';

/** A violation that a model's own validation finds. */
export interface FieldViolation {
  /** Path such as `spec.tags[1]`. */
  readonly field: string;
  /** The rule that is broken, in words without the field's path. */
  readonly message: string;
  /** Default `FieldValueInvalid`. */
  readonly reason?: CauseReason;
}

/**
 * Checks that a schema cannot express: rules between fields, and rules about changes. Called with the object that would
 * be stored, and with the stored one (undefined for a creation). Both are frozen, and the schema and the metadata are
 * valid. It is called for every create, update, patch and status write that changes something and does not remove the
 * object. It is synchronous, and returns the violations, which refuse the write (422 Invalid); it returns nothing or an
 * empty list when there are none. It may throw an ApiError Invalid instead. Anything else that it throws or returns is
 * a bug in the hook; the write is then refused as well.
 */
export type ModelValidation<T extends ApiObject = ApiObject> = {
  // This is a method, because parameters of methods are bivariant: so a model of objects of any type is a `Model`.
  validate(next: T, previous: T | undefined): readonly FieldViolation[] | void;
}['validate'];

/**
 * Returns the error that a rule throws to refuse an object: 422 Invalid with all of these violations. The server adds
 * the name of the object.
 * @example throw invalid({ field: 'spec.name', message: 'is the name of another' });
 */
export function invalid(...violations: readonly FieldViolation[]): ApiError {
  const causes = violations.map(({ field, message, reason = 'FieldValueInvalid' }) => ({ reason, message, field }));
  return new ApiError('Invalid', causes.map(({ field, message }) => `${field}: ${message}`).join(', '), { causes });
}
