import { ApiError } from '@homeostat/controller-runtime/api';
import type { FieldCause, JsonSchema } from '@homeostat/controller-runtime/api';
import { Explainer } from '../schema/explainer.ts';
import { LinearPatterns } from '../schema/linear-pattern.ts';
import { compileGate } from '../schema/value-gate.ts';

/** Refuses a value that breaks the schema. @throws ApiError Invalid with every violation, at most 100. */
export type BodyCheck = (value: unknown) => void;

const compiled = new WeakMap<JsonSchema, BodyCheck>();

/**
 * The check of a schema; compiled once for each schema object.
 * @throws Error that says why the schema cannot be used: a reference, since there are no components; a pattern that RE2 cannot hold.
 */
export function bodyCheck(schema: JsonSchema): BodyCheck {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const check = compile(schema);
  compiled.set(schema, check);
  return check;
}

function compile(schema: JsonSchema): BodyCheck {
  const parts = { components: {}, patterns: new LinearPatterns() };
  const isValid = compileGate(schema, parts);
  const explainer = new Explainer(parts);
  return (value) => {
    if (isValid(value)) return;
    const causes = explainer.explain(schema, value);
    // The two never disagree; if they did, a refused body must not pass.
    if (causes.length === 0) throw new Error('a body was refused without a cause');
    throw invalidBody(causes);
  };
}

function invalidBody(causes: readonly FieldCause[]): ApiError {
  const violations = causes.map(({ field, message }) => (field === undefined ? message : `${field}: ${message}`));
  const text = violations.length === 1 ? violations[0] : `[${violations.join(', ')}]`;
  return new ApiError('Invalid', `the body is invalid: ${text}`, { causes });
}
