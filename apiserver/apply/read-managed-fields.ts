import { invalidValue, isJsonObject } from '@homeostat/controller-runtime/api';
import type { FieldCause, ManagedFieldsEntry } from '@homeostat/controller-runtime/api';
import { checkItems } from '../limits/check-items.ts';
import { Pace } from '../turns/pace.ts';
import type { Steps } from '../turns/steps.ts';
import { isEmptySet } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import type { ManagedFields } from './managed-fields.ts';
import { parseElement } from './path-element.ts';

/** The maximum number of bytes of a manager's name, as in Kubernetes. */
export const maxManagerBytes = 128;

/** The maximum number of characters of a subresource's name, as in Kubernetes, and of an apiVersion. */
const maxTextLength = 256;

/** The server stops checking entries once it has found this many causes. A person would not read more. */
const maxCauses = 100;

/** Matches printable ASCII, of which the names of managers consist. */
const printable = /^[\x20-\x7e]*$/;

/** Matches a time of RFC 3339, as clients of Kubernetes write it. */
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

interface ReadFields {
  readonly managedFields: ManagedFields;
  readonly causes: readonly FieldCause[];
}

/**
 * Converts the managed fields that a client sends to the form in which they are stored, and returns a cause for each
 * mistake in them. @throws ApiError RequestEntityTooLarge for more than 10,000 entries
 */
export function* readManagedFields(sent: readonly unknown[], formatTime: (ms: number) => string): Steps<ReadFields> {
  checkItems(sent);
  const pace = new Pace();
  const causes: FieldCause[] = [];
  const managedFields: ManagedFieldsEntry[] = [];
  for (const [index, entry] of sent.entries()) {
    const field = `metadata.managedFields[${index}]`;
    const read = new EntryReader(isJsonObject(entry) ? entry : {}, field);
    const found = yield* read.entry(formatTime, pace);
    causes.push(...read.causes);
    if (found !== undefined) managedFields.push(found);
    if (causes.length >= maxCauses) break;
  }
  return { managedFields, causes };
}

/** True for Kubernetes' request to clear all managed fields: a list of one empty entry. */
export function isReset(sent: readonly unknown[]): boolean {
  const [first] = sent;
  return sent.length === 1 && typeof first === 'object' && first !== null && Object.keys(first).length === 0;
}

class EntryReader {
  readonly causes: FieldCause[] = [];
  readonly #sent: Readonly<Record<string, unknown>>;
  readonly #field: string;

  constructor(sent: Readonly<Record<string, unknown>>, field: string) {
    this.#sent = sent;
    this.#field = field;
  }

  /** Returns the entry in the form in which it is stored; undefined when a part of it is wrong. */
  *entry(formatTime: (ms: number) => string, pace: Pace): Steps<ManagedFieldsEntry | undefined> {
    const { operation, fieldsType, time } = this.#sent;
    const manager = this.#text('manager', maxManagerBytes);
    const subresource = this.#text('subresource', maxTextLength);
    const apiVersion = this.#text('apiVersion', maxTextLength);
    const isOperation = operation === 'Apply' || operation === 'Update';
    if (!isOperation) this.#refuse('operation', 'must be `Apply` or `Update`');
    if (fieldsType !== 'FieldsV1') this.#refuse('fieldsType', 'must be `FieldsV1`');
    const isTime = typeof time === 'string' && timePattern.test(time) && !Number.isNaN(Date.parse(time));
    if (!isTime && time !== undefined && time !== null) this.#refuse('time', 'must be a time of RFC 3339');
    const fieldsV1 = yield* readFieldSet(this.#sent['fieldsV1'] ?? {}, pace);
    if (fieldsV1 === undefined) this.#refuse('fieldsV1', 'must be a set of fields in the format FieldsV1');
    if (this.causes.length > 0 || !isOperation || fieldsV1 === undefined) return undefined;
    return {
      manager,
      operation,
      apiVersion,
      ...(isTime ? { time: formatTime(Date.parse(time)) } : {}),
      fieldsType: 'FieldsV1',
      fieldsV1,
      ...(subresource === '' ? {} : { subresource }),
    };
  }

  #text(name: string, maxLength: number): string {
    const value = this.#sent[name] ?? '';
    if (typeof value === 'string' && value.length <= maxLength && printable.test(value)) return value;
    this.#refuse(name, `must be a string of at most ${maxLength} printable ASCII characters`);
    return '';
  }

  #refuse(name: string, detail: string): void {
    this.causes.push(invalidValue(`${this.#field}.${name}`, this.#sent[name] ?? null, detail));
  }
}

/**
 * Returns the set of fields that a client sent; undefined for a value that is not a set. The root is never a member,
 * even if the client sends it as one.
 */
function* readFieldSet(sent: unknown, pace: Pace): Steps<FieldSet | undefined> {
  const node = yield* readNode(sent, pace);
  if (node?.['.'] === undefined) return node;
  const { '.': _mark, ...members } = node;
  return members;
}

function* readNode(sent: unknown, pace: Pace): Steps<FieldSet | undefined> {
  if (!isJsonObject(sent)) return undefined;
  const set: Record<string, FieldSet> = {};
  for (const [text, child] of Object.entries(sent)) {
    if (pace.isStepOver()) yield;
    const element = text === '.' ? text : parseElement(text);
    const below = element === undefined ? undefined : yield* readNode(child, pace);
    if (element === undefined || below === undefined) return undefined;
    if (element === '.' && !isEmptySet(below)) return undefined;
    set[element] = below;
  }
  return set;
}
