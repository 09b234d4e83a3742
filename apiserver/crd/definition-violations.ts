import { quoteValue } from '@homeostat/controller-runtime/api';
import type { FieldViolation } from '@homeostat/controller-runtime/api';

type Reason = NonNullable<FieldViolation['reason']>;

/** The maximum number of violations that are collected. A response shows at most 100. */
const maxFound = 1000;

/** Collects the violations of a definition, in the words of Kubernetes. */
export class DefinitionViolations {
  readonly found: FieldViolation[] = [];

  /** True when further violations would be dropped. */
  get isFull(): boolean {
    return this.found.length >= maxFound;
  }

  invalid(field: string, value: unknown, rule: string): void {
    this.#add('FieldValueInvalid', field, `Invalid value: ${quoteValue(value)}: ${rule}`);
  }

  required(field: string, rule: string): void {
    this.#add('FieldValueRequired', field, `Required value${rule === '' ? '' : `: ${rule}`}`);
  }

  forbidden(field: string, rule: string): void {
    this.#add('FieldValueForbidden', field, `Forbidden: ${rule}`);
  }

  duplicate(field: string, value: unknown): void {
    this.#add('FieldValueDuplicate', field, `Duplicate value: ${quoteValue(value)}`);
  }

  tooMany(field: string, count: number, limit: number): void {
    this.#add('FieldValueTooMany', field, `Too many: ${count}: must have at most ${limit} items`);
  }

  notSupported(field: string, value: unknown, supported: readonly string[]): void {
    const list = supported.map((each) => JSON.stringify(each)).join(', ');
    this.#add('FieldValueNotSupported', field, `Unsupported value: ${quoteValue(value)}: supported values: ${list}`);
  }

  /** Adds a violation without a change of its message. The other methods add a prefix, such as `Forbidden: `. */
  add(violation: FieldViolation): void {
    if (!this.isFull) this.found.push(violation);
  }

  #add(reason: Reason, field: string, message: string): void {
    this.add({ reason, field, message });
  }
}
