import type { CauseReason, SchemaRule } from '@homeostat/controller-runtime/api';

/** The reasons that a rule may give, in the order of messages. */
export const ruleReasons: readonly CauseReason[] = [
  'FieldValueDuplicate',
  'FieldValueForbidden',
  'FieldValueInvalid',
  'FieldValueRequired',
];

/** The first line of messages when a rule has none of its own. */
export function shownRule({ rule, message }: SchemaRule): string {
  return (message === undefined || message === '' ? rule : message).trim();
}
