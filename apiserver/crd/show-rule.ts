import type { SchemaRule } from '@homeostat/controller-runtime/api';

/** The longest text of a rule that a message repeats. */
const maxShown = 1024;

/** Prints a rule as messages of kube-apiserver do, in the form of Go. */
export function showRule({ rule, message, messageExpression, reason, fieldPath, optionalOldSelf }: SchemaRule): string {
  const parts = [
    `Rule:${text(rule)}`,
    `Message:${text(message)}`,
    `MessageExpression:${text(messageExpression)}`,
    `Reason:${reason === undefined ? '(*apiextensions.FieldValueErrorReason)(nil)' : text(reason)}`,
    `FieldPath:${text(fieldPath)}`,
    `OptionalOldSelf:${optionalOldSelf === undefined ? '(*bool)(nil)' : String(optionalOldSelf)}`,
  ];
  return `apiextensions.ValidationRule{${parts.join(', ')}}`;
}

function text(value = ''): string {
  return JSON.stringify(value.slice(0, maxShown));
}
