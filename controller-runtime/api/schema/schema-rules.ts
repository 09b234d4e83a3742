import { isPlainObject } from '../base/plain-object.ts';
import { unknownKeyOf } from '../base/unknown-key.ts';

const reasons: readonly unknown[] = [
  undefined,
  'FieldValueInvalid',
  'FieldValueForbidden',
  'FieldValueRequired',
  'FieldValueDuplicate',
];

const ruleKeys = ['rule', 'message', 'messageExpression', 'reason', 'fieldPath', 'optionalOldSelf'];

/** The maximum number of rules of one schema. Schemas that people write have at most about ten. */
const maxRules = 1000;

/**
 * Returns the problem of a list of rules; undefined when there is no problem. Only the server checks the expressions
 * themselves.
 */
export function brokenRules(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length > maxRules) return `rules must be a list of at most ${maxRules} rules`;
  for (const [index, rule] of value.entries()) {
    const problem = brokenRule(rule);
    if (problem !== undefined) return `rules[${index}]: ${problem}`;
  }
  return undefined;
}

function brokenRule(value: unknown): string | undefined {
  if (!isPlainObject(value)) return 'must be an object with the key "rule"';
  const unknown = unknownKeyOf(value, ruleKeys);
  if (unknown !== undefined) return unknown;
  const { rule, reason, optionalOldSelf, message, messageExpression, fieldPath } = value;
  if (typeof rule !== 'string' || rule.trim() === '') return 'rule must be an expression in CEL';
  if (!reasons.includes(reason)) return `reason must be one of ${reasons.slice(1).join(', ')}`;
  const isText = [message, messageExpression, fieldPath].every((each) => ['string', 'undefined'].includes(typeof each));
  if (!isText) return 'message, messageExpression and fieldPath must be texts';
  return ['boolean', 'undefined'].includes(typeof optionalOldSelf)
    ? undefined
    : 'optionalOldSelf must be true or false';
}
