import type { CauseReason, SchemaRule } from '@homeostat/controller-runtime/api';

/** The values that a rule may have as `reason`, in the order in which messages list them. */
export const ruleReasons: readonly CauseReason[] = [
  'FieldValueDuplicate',
  'FieldValueForbidden',
  'FieldValueInvalid',
  'FieldValueRequired',
];

/** Returns the text by which messages name a rule: its own message, or its expression. */
export function shownRule({ rule, message }: SchemaRule): string {
  return (message === undefined || message === '' ? rule : message).trim();
}
