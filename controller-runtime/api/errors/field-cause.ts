import type { CauseReason, FieldCause } from './status.ts';

/**
 * The maximum length of a value in a message, in characters. Longer values are cut, so that a response is never much
 * larger than its request.
 */
const maxQuotedLength = 1024;

/**
 * The maximum number of violations that are reported for one field: thousands of bad labels must not make a response of
 * many megabytes.
 */
const maxCausesPerField = 100;

/** Returns the JSON of a value for a message, cut at 1,024 characters. */
export function quoteValue(value: unknown): string {
  const text =
    typeof value === 'string' ? JSON.stringify(value.slice(0, maxQuotedLength + 1)) : (JSON.stringify(value) ?? '');
  return text.length <= maxQuotedLength + 2 ? text : `${text.slice(0, maxQuotedLength)}…`;
}

/** Makes a cause whose message has Kubernetes' form `Invalid value: <value>: <detail>`. */
export function invalidValue(field: string, value: unknown, detail: string): FieldCause {
  return cause('FieldValueInvalid', field, `Invalid value: ${quoteValue(value)}: ${detail}`);
}

/** Makes a cause whose message has Kubernetes' form `Required value: <detail>`. */
export function requiredValue(field: string, detail: string): FieldCause {
  return cause('FieldValueRequired', field, `Required value: ${detail}`);
}

/** Makes a cause whose message has Kubernetes' form `Forbidden: <detail>`. */
export function forbiddenValue(field: string, detail: string): FieldCause {
  return cause('FieldValueForbidden', field, `Forbidden: ${detail}`);
}

/** Makes a cause whose message has Kubernetes' form `Too long: …`. The message does not contain the value. */
export function tooLongValue(field: string, maxBytes: number): FieldCause {
  return cause('FieldValueTooLong', field, `Too long: may not be more than ${maxBytes} bytes`);
}

/** Returns the first 100 causes. It stops the iteration there, so the others are never computed. */
export function takeCauses(causes: Iterable<FieldCause>): FieldCause[] {
  const taken: FieldCause[] = [];
  for (const each of causes) {
    taken.push(each);
    if (taken.length === maxCausesPerField) break;
  }
  return taken;
}

function cause(reason: CauseReason, field: string, message: string): FieldCause {
  return { reason, message, field };
}
