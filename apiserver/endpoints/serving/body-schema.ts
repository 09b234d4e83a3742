import { ApiError } from '@homeostat/controller-runtime/api';
import type { FieldCause, JsonSchema } from '@homeostat/controller-runtime/api';
import { runSteps } from '../../turns/steps.ts';
import { Validator } from '../../schema/judge/validator.ts';

/** Checks a value. Rejects with an ApiError Invalid that lists every violation of the schema, at most 100. */
export type BodyCheck = (value: unknown) => Promise<void>;

const compiled = new WeakMap<JsonSchema, BodyCheck>();

/**
 * Returns a function that checks the body of a request with this schema. Each schema object is compiled once.
 * @throws Error for a schema with a `$ref`, because there are no other schemas to which a `$ref` can refer, and for a
 * schema with a pattern that RE2 does not support. `bodyCheck` does not look for these two mistakes in a schema with
 * more than 300 subschemas and enum values.
 */
export function bodyCheck(schema: JsonSchema): BodyCheck {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const check = compile(schema);
  compiled.set(schema, check);
  return check;
}

function compile(schema: JsonSchema): BodyCheck {
  const validator = new Validator({ root: schema, components: {}, origin: 'code' });
  return async (value) => {
    const causes = await runSteps(validator.judge(value), false);
    if (causes.length > 0) throw invalidBody(causes);
  };
}

function invalidBody(causes: readonly FieldCause[]): ApiError {
  const violations = causes.map(({ field, message }) => (field === undefined ? message : `${field}: ${message}`));
  const text = violations.length === 1 ? violations[0] : `[${violations.join(', ')}]`;
  return new ApiError('Invalid', `the body is invalid: ${text}`, { causes });
}
