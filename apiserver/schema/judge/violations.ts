import { quoteValue } from '@homeostat/controller-runtime/api';
import type { CauseReason, FieldCause } from '@homeostat/controller-runtime/api';
import { formatPath } from './field-path.ts';
import type { PathSegment } from './field-path.ts';

/** The maximum number of violations that are reported for one object. */
const maxViolations = 100;

/** The maximum number of values of an enum that a message lists. */
const maxListed = 100;

/** Collects violations during the walk over a value, with the wording of Kubernetes. */
export class Violations {
  readonly causes: FieldCause[] = [];
  /** The path of the value that is being checked. */
  readonly path: PathSegment[];

  constructor(path: PathSegment[] = []) {
    this.path = path;
  }

  /** True when no more violations are collected, so that the walk can stop. */
  get isFull(): boolean {
    return this.causes.length >= maxViolations;
  }

  get field(): string {
    return formatPath(this.path);
  }

  /** Calls the function with {@link path} one level deeper, at a field or item of the current value. */
  at(segment: PathSegment, step: () => void): void {
    this.path.push(segment);
    step();
    this.path.pop();
  }

  addAll(causes: readonly FieldCause[]): void {
    this.causes.push(...causes.slice(0, maxViolations - this.causes.length));
  }

  required(): void {
    this.add('FieldValueRequired', 'Required value');
  }

  /** Adds a violation of a rule. The message has the value, the field, "in body", and `rule`. */
  invalid(value: unknown, rule: string): void {
    this.add('FieldValueInvalid', `Invalid value: ${quoteValue(value)}: ${this.field} in body ${rule}`);
  }

  /** Adds a violation of a type or a format. `shown` is the type of the value; for a format, the value itself. */
  wrongType(shown: unknown, expected: string): void {
    const text = quoteValue(shown);
    this.add(
      'FieldValueTypeInvalid',
      `Invalid value: ${text}: ${this.field} in body must be of type ${expected}: ${text}`,
    );
  }

  notSupported(value: unknown, supported: readonly unknown[]): void {
    const list = supported
      .slice(0, maxListed)
      .map((each) => quoteValue(typeof each === 'string' ? each : JSON.stringify(each)))
      .join(', ');
    const more = supported.length > maxListed ? ` and ${supported.length - maxListed} more` : '';
    this.add('FieldValueNotSupported', `Unsupported value: ${quoteValue(value)}: supported values: ${list}${more}`);
  }

  // These are the messages of Kubernetes. They say "bytes" also for code points, and "items" also for properties.
  tooLong(limit: number): void {
    this.add('FieldValueTooLong', `Too long: may not be more than ${limit} bytes`);
  }

  tooMany(count: number, limit: number): void {
    this.add('FieldValueTooMany', `Too many: ${count}: must have at most ${limit} items`);
  }

  duplicate(value: unknown): void {
    this.add('FieldValueDuplicate', `Duplicate value: ${quoteValue(value)}`);
  }

  /** Adds a violation of a rule about the value as a whole, such as anyOf. */
  unfit(rule: string): void {
    this.add('FieldValueInvalid', `Invalid value: "": ${quoteValue(this.field)} ${rule}`);
  }

  add(reason: CauseReason, message: string): void {
    if (this.isFull) return;
    this.causes.push({ reason, message, ...(this.path.length === 0 ? {} : { field: this.field }) });
  }
}
