import { RE2JS } from 're2js';
import type { CheckBudget } from './check-budget.ts';

/**
 * Characters times states of one match. Most patterns take 10 ns for a character, whatever their states; in the worst case a
 * match visits every state for each character, 40 ns each. The longest repetition, `.{1,1000}`, meets its longest text.
 */
const maxMatchSteps = 2_500_000;

/** Steps that cost as much as one unit of a budget: 5,000 addresses against a pattern of a hundred states are 9,000,000. */
const stepsPerUnit = 10;

/** What ajv and the explainer need of a pattern. */
export interface LinearPattern {
  test(text: string): boolean;
  /** The pattern itself: ajv tells patterns apart by it. */
  toString(): string;
  /** The number of states of the compiled pattern. */
  readonly states: number;
}

/**
 * The patterns of one schema, each compiled once, when it is first needed: 5 µs a state. RE2 takes time linear in the text
 * (0.1 to 0.6 µs for 15 characters, 15 ms for a million), where the regular expressions of JavaScript can burn the CPU on 28
 * characters.
 */
export class LinearPatterns {
  readonly #compiled = new Map<string, LinearPattern | SyntaxError>();

  /** @throws SyntaxError for a pattern that RE2 cannot hold, such as look-around or a back reference. */
  get(pattern: string): LinearPattern {
    const compiled = this.#compile(pattern);
    if (compiled instanceof SyntaxError) throw compiled;
    return compiled;
  }

  /** Compiles a pattern; returns its states, which are the work that it took. */
  prepare(pattern: string): number {
    const compiled = this.#compile(pattern);
    return compiled instanceof SyntaxError ? pattern.length : compiled.states;
  }

  /** Why RE2 cannot hold a pattern; undefined when it can. */
  problemOf(pattern: string): string | undefined {
    const compiled = this.#compile(pattern);
    if (!(compiled instanceof SyntaxError)) return undefined;
    return compiled.cause instanceof Error ? compiled.cause.message : compiled.message;
  }

  /**
   * Whether a text matches; false, with the budget used up, where that would take too long. A pattern that RE2 cannot hold
   * matches nothing: authors and definitions are refused with it long before, and a definition that was stored by other rules
   * must not fail with each write.
   */
  matches(pattern: string, text: string, budget: CheckBudget): boolean {
    const compiled = this.#compile(pattern);
    if (compiled instanceof SyntaxError) return false;
    const steps = compiled.states * text.length;
    return budget.spend(steps > maxMatchSteps ? Infinity : steps / stepsPerUnit) && compiled.test(text);
  }

  #compile(pattern: string): LinearPattern | SyntaxError {
    const known = this.#compiled.get(pattern);
    if (known !== undefined) return known;
    const compiled = compilePattern(pattern);
    this.#compiled.set(pattern, compiled);
    return compiled;
  }
}

function compilePattern(pattern: string): LinearPattern | SyntaxError {
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(pattern));
    return {
      test: (text) => expression.test(text),
      toString: () => pattern,
      states: expression.programSize(),
    };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return new SyntaxError(`the pattern '${pattern}' is not one that RE2 can hold: ${reason}`, { cause });
  }
}
