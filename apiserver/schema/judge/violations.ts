import { quoteValue } from '@homeostat/controller-runtime/api';
import type { CauseReason, FieldCause } from '@homeostat/controller-runtime/api';
import { formatPath } from './field-path.ts';
import type { PathSegment } from './field-path.ts';

/** The maximum number of violations that one object reports. */
const maxViolations = 100;

/** The maximum number of values of an enum that a message lists. */
const maxListed = 100;

/** Collects violations while a value is walked, in Kubernetes' words. */
export class Violations {
  readonly causes: FieldCause[] = [];
  /** The current path of the walk, shared with the collectors of branches. */
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

  /** Runs a step of the walk, one level deeper. */
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

  /** Adds a violation of a rule; `rule` is the end of the message that begins with "spec.age in body". */
  invalid(value: unknown, rule: string): void {
    this.add('FieldValueInvalid', `Invalid value: ${quoteValue(value)}: ${this.field} in body ${rule}`);
  }

  /**
   * Adds a violation of a type; `shown` is the type of the value or, for the violation of a format, the value itself.
   */
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

  // These are Kubernetes' messages, which say "bytes" for code points as well, and "items" for properties as well.
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
