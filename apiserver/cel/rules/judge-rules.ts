import { deepEqual, isJsonObject, quoteValue } from '@homeostat/controller-runtime/api';
import type { FieldCause } from '@homeostat/controller-runtime/api';
import { formatPath } from '../../schema/judge/field-path.ts';
import type { PathSegment } from '../../schema/judge/field-path.ts';
import type { Steps } from '../../turns/steps.ts';
import { CelError, CostLimitError } from '../values/cel-error.ts';
import { CelOptional } from '../values/cel-value.ts';
import type { CelValue } from '../values/cel-value.ts';
import { CostMeter } from '../values/cost-meter.ts';
import type { CelExpression } from '../evaluate/cel-expression.ts';
import type { CelRule } from './compile-rule.ts';
import { readMessage } from './read-message.ts';
import type { RuleNode } from './rule-tree.ts';
import { shownRule } from './shown-rule.ts';

/** The maximum cost of the evaluation of one rule. An evaluation of this cost takes about 30 ms. */
const callLimit = 1_000_000;

/** The maximum cost of all rules of one object. */
const objectLimit = 10_000_000;

/** After evaluations of this total cost, which take about 5 ms, {@link judgeRules} lets other requests run. */
const costPerTurn = 150_000;

/** The cost of a visit to one value in an object, even if the value has no rules. */
const visitCost = 10;

/** The maximum number of violations, and of warnings, that are reported for one object. */
const maxCauses = 100;

/** The result of the evaluation of all rules for an object. */
export interface RuleVerdict {
  readonly causes: readonly FieldCause[];
  /** Violations in values that the write does not change. These violations do not prevent the write. */
  readonly warnings: readonly FieldCause[];
}

/** A value, and the value that the same field or item had before the write. */
interface Place {
  readonly value: unknown;
  readonly old: unknown;
  /**
   * Returns true when the write does not change `value`. If `old` is undefined, it returns true when the write does not
   * change the innermost enclosing value that existed before the write. `isUnchanged` is undefined when no enclosing
   * value existed before the write.
   */
  readonly isUnchanged: (() => boolean) | undefined;
}

/**
 * Evaluates the rules of a schema for an object, and for all values in it. `previous` is undefined for a new object.
 * Ends after the first evaluation that costs too much. Lets other requests run about every 5 ms, but never during the
 * evaluation of one rule.
 */
export function* judgeRules(root: RuleNode, next: object, previous: object | undefined): Steps<RuleVerdict> {
  const judge = new RuleJudge();
  yield* judge.visit(root, placeOf(next, previous));
  return judge.verdict;
}

function placeOf(value: unknown, old: unknown, isUnchanged?: () => boolean): Place {
  if (old === undefined) return { value, old, isUnchanged };
  let known: boolean | undefined;
  return { value, old, isUnchanged: () => (known ??= deepEqual(value, old)) };
}

class RuleJudge {
  readonly verdict: { readonly causes: FieldCause[]; readonly warnings: FieldCause[] } = { causes: [], warnings: [] };
  readonly #path: PathSegment[] = [];
  #left = objectLimit;
  #inTurn = 0;
  #isOver = false;

  *visit(node: RuleNode, place: Place): Steps<void> {
    const { value } = place;
    if (value === null || value === undefined || this.#isOver) return;
    if (this.#charge(visitCost)) yield 'long';
    for (const problem of node.broken) this.#add(node, `rule compile error: ${problem}`);
    if (node.rules.length > 0) yield* this.#judge(node, place);
    if (Array.isArray(value)) yield* this.#visitItems(node, value, place);
    else if (isJsonObject(value)) yield* this.#visitFields(node, value, place);
  }

  *#visitItems(node: RuleNode, items: readonly unknown[], { old, isUnchanged }: Place): Steps<void> {
    if (node.items === undefined) return;
    const before = itemsByKey(node, old);
    for (const [index, item] of items.entries()) {
      if (this.#isOver) return;
      this.#path.push(index);
      yield* this.visit(node.items, placeOf(item, before?.get(keyOf(node, item)), isUnchanged));
      this.#path.pop();
    }
  }

  *#visitFields(node: RuleNode, fields: Readonly<Record<string, unknown>>, { old, isUnchanged }: Place): Steps<void> {
    if (node.additional === undefined && node.properties.size === 0) return;
    const before = isJsonObject(old) ? old : undefined;
    for (const name of Object.keys(fields)) {
      if (this.#isOver) return;
      const child = node.properties.get(name) ?? node.additional;
      if (child === undefined) continue;
      this.#path.push(name);
      const oldField = before !== undefined && Object.hasOwn(before, name) ? before[name] : undefined;
      yield* this.visit(child, placeOf(fields[name], oldField, isUnchanged));
      this.#path.pop();
    }
  }

  *#judge(node: RuleNode, place: Place): Steps<void> {
    const self = node.read(place.value);
    const old = place.old === undefined || place.old === null ? undefined : node.read(place.old);
    const plain = [self, old];
    for (const compiled of node.rules) {
      if (this.#isOver) return;
      const isOptional = compiled.rule.optionalOldSelf === true;
      if (compiled.usesOldSelf && old === undefined && !isOptional) continue;
      const values = isOptional ? [self, old === undefined ? CelOptional.none : new CelOptional(old)] : plain;
      const result = this.#run(compiled.condition, values);
      if (this.#charge(result.spent)) yield 'long';
      if (result.value !== true || this.#left < 0) yield* this.#reject(node, compiled, { result, values, place });
    }
  }

  *#reject(node: RuleNode, compiled: CelRule, { result, values, place }: Rejected): Steps<void> {
    if (this.#left < 0)
      return this.#end(
        node,
        'validation failed due to running out of cost budget, no further validation rules will be run',
      );
    const shown = shownRule(compiled.rule);
    const { error } = result;
    if (error instanceof CostLimitError)
      return this.#end(
        node,
        `'${error.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${shown}`,
      );
    if (error !== undefined)
      return error.message.startsWith('no such overload')
        ? this.#add(
            node,
            `'${error.message}': call arguments did not match a supported operator, function or macro signature for rule: ${shown}`,
          )
        : this.#add(node, `${error.message} evaluating rule: ${shown}`);
    yield* this.#refuse(node, compiled, { values, place });
  }

  *#refuse(node: RuleNode, compiled: CelRule, { values, place }: Evaluation): Steps<void> {
    const { rule, message } = compiled;
    let detail =
      rule.message === undefined || rule.message === '' ? `failed rule: ${shownRule(rule)}` : shownRule(rule);
    if (message !== undefined) {
      const result = this.#run(message, values);
      if (this.#charge(result.spent)) yield 'long';
      if (this.#left < 0 || result.error instanceof CostLimitError) {
        const why =
          'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run';
        return this.#end(node, why);
      }
      detail = readMessage(result.value) ?? detail;
    }
    const cause = this.#causeOf(node, compiled, { detail, place });
    const isRatcheted = !compiled.usesOldSelf && place.isUnchanged?.() === true;
    const list = isRatcheted ? this.verdict.warnings : this.verdict.causes;
    if (list.length < maxCauses) list.push(cause);
  }

  #causeOf(node: RuleNode, { rule, fieldPath }: CelRule, shown: { detail: string; place: Place }): FieldCause {
    const field = formatPath([...this.#path, ...fieldPath]);
    const { reason = 'FieldValueInvalid' } = rule;
    const { detail } = shown;
    switch (reason) {
      case 'FieldValueForbidden':
        return withField(field, { reason, message: `Forbidden: ${detail}` });
      case 'FieldValueRequired':
        return withField(field, { reason, message: `Required value: ${detail}` });
      case 'FieldValueDuplicate':
        return withField(field, { reason, message: `Duplicate value: ${quoteValue(node.type)}` });
      case 'FieldValueInvalid':
        return withField(field, { reason, message: invalidMessage(node, detail) });
    }
  }

  #run(expression: CelExpression, values: Evaluation['values']): RunResult {
    const meter = new CostMeter(callLimit);
    try {
      return { value: expression.evaluate(values, meter), error: undefined, spent: meter.spent };
    } catch (error) {
      if (error instanceof CelError || error instanceof CostLimitError)
        return { value: null, error, spent: meter.spent };
      throw error;
    }
  }

  /** Adds a cost, and returns true when it is time to let other requests run. */
  #charge(cost: number): boolean {
    this.#left -= cost;
    this.#inTurn += cost;
    if (this.#inTurn < costPerTurn) return false;
    this.#inTurn = 0;
    return true;
  }

  #add(node: RuleNode, detail: string): void {
    const { causes } = this.verdict;
    const message = invalidMessage(node, detail);
    if (causes.length < maxCauses)
      causes.push(withField(formatPath(this.#path), { reason: 'FieldValueInvalid', message }));
  }

  #end(node: RuleNode, detail: string): void {
    this.#isOver = true;
    this.#add(node, detail);
  }
}

interface Evaluation {
  /** The values of `self` and `oldSelf`. */
  readonly values: readonly (CelValue | undefined)[];
  readonly place: Place;
}

interface Rejected extends Evaluation {
  readonly result: RunResult;
}

interface RunResult {
  readonly value: CelValue;
  readonly error: CelError | CostLimitError | undefined;
  readonly spent: number;
}

/** Returns the message for a violation. As in Kubernetes, it shows the type instead of the value. */
function invalidMessage({ type }: RuleNode, detail: string): string {
  return `Invalid value: ${quoteValue(type)}: ${detail}`;
}

function withField(field: string, cause: FieldCause): FieldCause {
  return { ...cause, field: field === '' ? '<nil>' : field };
}

/**
 * Returns the old items of a list of type map, by their keys; undefined for other lists, because their items cannot be
 * matched with old items.
 */
function itemsByKey(node: RuleNode, old: unknown): ReadonlyMap<string, unknown> | undefined {
  if (typeof node.identity === 'string' || !Array.isArray(old)) return undefined;
  return new Map(old.map((item) => [keyOf(node, item), item]));
}

function keyOf({ identity }: RuleNode, item: unknown): string {
  if (typeof identity === 'string' || !isJsonObject(item)) return '';
  return JSON.stringify(identity.map((key) => item[key] ?? null));
}
