import { ApiError } from '../errors/errors.ts';
import type { ApiObject } from '../object/object.ts';
import type { CauseReason } from '../errors/status.ts';

/** A violation of a rule that the validation function of a model checks. */
export interface FieldViolation {
  /** Path such as `spec.tags[1]`. */
  readonly field: string;
  /** The broken rule in words, without the field's path. */
  readonly message: string;
  /** The reason of the cause in the error. Default `FieldValueInvalid`. */
  readonly reason?: CauseReason;
}

/**
 * A function that checks rules which a schema cannot express: rules between fields, and rules about changes. It is
 * called with the object that would be stored, and with the stored object (undefined for a creation, and when the
 * stored object cannot be read). Both are frozen. The new object has valid metadata and is valid under its schema, with
 * one exception: a write that changes only metadata may keep stored fields that a newer schema refuses. The function is
 * called for every create, update, patch and status write that changes something and does not remove the object. It is
 * synchronous. It returns the violations, and the server then refuses the write (422 Invalid); it returns nothing or an
 * empty list when there are no violations. It may throw an ApiError Invalid instead. When it throws or returns anything
 * else, the function has a bug, and the write is refused, too.
 */
export type ModelValidation<T extends ApiObject = ApiObject> = {
  // `validate` is declared as a method, because the parameters of methods are bivariant: this makes a model of any type
  // of objects assignable to `Model`.
  validate(next: T, previous: T | undefined): readonly FieldViolation[] | void;
}['validate'];

/**
 * Returns the error that a hook or a validation function throws to refuse an object: 422 Invalid with all of these
 * violations. To the error of a hook, the server adds the kind and the name of the object.
 * @example throw invalid({ field: 'spec.name', message: 'is the name of another' });
 */
export function invalid(...violations: readonly FieldViolation[]): ApiError {
  const causes = violations.map(({ field, message, reason = 'FieldValueInvalid' }) => ({ reason, message, field }));
  return new ApiError('Invalid', causes.map(({ field, message }) => `${field}: ${message}`).join(', '), { causes });
}
