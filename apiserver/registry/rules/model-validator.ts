import { freezeDeep } from '@homeostat/controller-runtime';
import { isInvalid, quoteValue, isJsonObject } from '@homeostat/controller-runtime/api';
import type { ApiObject, FieldCause, FieldViolation, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { KindJudge } from './kind-judge.ts';
import type { Steps } from '../../turns/steps.ts';
import { clip, invalid } from '../object/resource-errors.ts';

/** The maximum number of violations in a response. People read the list, so a longer one is of no use. */
const maxViolations = 100;

/**
 * Checks an object with the model's own rules. Freezes both objects. @throws ApiError Invalid when the rules refuse the
 * object.
 */
export type ModelValidator = (next: ApiObject, previous: ApiObject | undefined) => void;

/**
 * Returns the model's `validate` as a check of writes; undefined when the model has no `validate`. If `validate` has a
 * bug, the write is refused as well (422, field `validate`), and `onBug` is called.
 */
export function modelValidator(model: ModelDescriptor, onBug: (error: unknown) => void): ModelValidator | undefined {
  if (model.validate === undefined) return undefined;
  return function checkModelRules(next, previous) {
    const causes = causesOf(model, { next: freezeDeep(next), previous: freezeDeep(previous) }, onBug);
    if (causes.length > 0) throw invalid(model, next.metadata.name, causes);
  };
}

/**
 * Checks an object with the rules of a built-in kind. Freezes nothing: the objects may be large, and these rules do not
 * modify them. @throws ApiError Invalid when the rules refuse the object.
 */
export type JudgedRules = (next: ApiObject, previous: ApiObject | undefined) => Steps<void>;

export function judgedRules(model: ModelDescriptor, judge: KindJudge): JudgedRules {
  return function* checkJudged(next, previous) {
    const violations = yield* judge(next, previous);
    if (violations.length > 0)
      throw invalid(
        model,
        next.metadata.name,
        // Unlike `causeOf`, this code does not shorten the messages: a message about an expression quotes a whole line
        // of the expression.
        violations.slice(0, maxViolations).map(({ reason = 'FieldValueInvalid', ...rest }) => ({ reason, ...rest })),
      );
  };
}

interface States {
  readonly next: ApiObject;
  readonly previous: ApiObject | undefined;
}

function causesOf(model: ModelDescriptor, { next, previous }: States, onBug: (error: unknown) => void): FieldCause[] {
  try {
    return readViolations(model.validate?.(next, previous)).map(causeOf);
  } catch (error) {
    if (isInvalid(error)) throw error;
    onBug(error);
    const message = error instanceof Error ? error.message : String(error);
    return [causeOf({ field: 'validate', message: `Invalid value: the model's validate failed: ${message}` })];
  }
}

function readViolations(answer: unknown): readonly FieldViolation[] {
  if (answer === undefined || answer === null) return [];
  if (answer instanceof Promise) {
    // The promise of an asynchronous `validate` is not used, so its rejection is ignored.
    answer.catch(() => undefined);
    throw new TypeError('validate must be synchronous, but returned a Promise');
  }
  if (!Array.isArray(answer)) throw new TypeError('validate must return a list of violations, or nothing');
  const answered: readonly unknown[] = answer.slice(0, maxViolations);
  const violations = answered.filter(isViolation);
  const wrong = answered.find((each) => !isViolation(each));
  if (violations.length < answered.length)
    throw new TypeError(`${quoteValue(wrong)} is not a violation: it needs a field and a message`);
  return violations;
}

function isViolation(value: unknown): value is FieldViolation {
  if (!isJsonObject(value)) return false;
  const { field, message, reason } = value;
  return typeof field === 'string' && typeof message === 'string' && ['string', 'undefined'].includes(typeof reason);
}

function causeOf({ field, message, reason = 'FieldValueInvalid' }: FieldViolation): FieldCause {
  return { reason, message: clip(message), field: clip(field) };
}
