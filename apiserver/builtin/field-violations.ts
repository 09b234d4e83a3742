import { checkLabels, checkQualifiedName, quoteValue } from '@homeostat/controller-runtime/api';
import type { FieldViolation } from '@homeostat/controller-runtime/api';
import type { LabelSelector } from './objects/rbac-objects.ts';

/** The maximum number of violations in a response, so that people can read the response. */
const maxViolations = 100;

/** Returns the first violations that a search yields, at most a hundred, and then ends the search. */
export function firstViolations(found: Iterable<FieldViolation>): readonly FieldViolation[] {
  const taken: FieldViolation[] = [];
  for (const violation of found) {
    taken.push(violation);
    if (taken.length === maxViolations) break;
  }
  return taken;
}

/** True for an absent list, null, and a list without items. */
export function isEmptyList(list: readonly unknown[] | null | undefined): boolean {
  return list === undefined || list === null || list.length === 0;
}

export function required(field: string, rule = ''): FieldViolation {
  return { reason: 'FieldValueRequired', field, message: `Required value${rule === '' ? '' : `: ${rule}`}` };
}

export function invalidField(field: string, value: unknown, rule: string): FieldViolation {
  return { reason: 'FieldValueInvalid', field, message: `Invalid value: ${quoteValue(value)}: ${rule}` };
}

export function forbiddenField(field: string, rule: string): FieldViolation {
  return { reason: 'FieldValueForbidden', field, message: `Forbidden: ${rule}` };
}

export function notSupported(field: string, value: string, supported: readonly string[]): FieldViolation {
  const list = supported.map((each) => JSON.stringify(each)).join(', ');
  const message = `Unsupported value: ${quoteValue(value)}: supported values: ${list}`;
  return { reason: 'FieldValueNotSupported', field, message };
}

export function duplicate(field: string, value: unknown): FieldViolation {
  return { reason: 'FieldValueDuplicate', field, message: `Duplicate value: ${quoteValue(value)}` };
}

const operators: readonly string[] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/** Checks a label selector by Kubernetes' rules, and yields the violations. */
export function* selectorViolations(
  { matchLabels, matchExpressions }: LabelSelector,
  field: string,
): Generator<FieldViolation> {
  for (const { message } of checkLabels(matchLabels ?? {}, `${field}.matchLabels`))
    yield { reason: 'FieldValueInvalid', field: `${field}.matchLabels`, message };
  for (const [index, { key, operator, values }] of (matchExpressions ?? []).entries()) {
    const at = `${field}.matchExpressions[${index}]`;
    const isSet = operator === 'In' || operator === 'NotIn';
    if (isSet && isEmptyList(values))
      yield required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
    else if (!operators.includes(operator))
      yield invalidField(`${at}.operator`, operator, 'not a valid selector operator');
    else if (!isSet && !isEmptyList(values))
      yield forbiddenField(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    for (const rule of checkQualifiedName(key)) yield invalidField(`${at}.key`, key, rule);
  }
}
