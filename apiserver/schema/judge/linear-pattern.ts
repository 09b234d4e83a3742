import { RE2JS } from 're2js';
import type { MeasuredWork } from '../../turns/in-turns.ts';
import { SlicedPattern } from './sliced-pattern.ts';

/** A compiled pattern. */
export interface LinearPattern {
  test(text: string): boolean;
  /** Matches a text in parts; yields the number of steps that each part took. */
  match(text: string): MeasuredWork<boolean>;
  /** The number of states of the compiled pattern. */
  readonly states: number;
}

/** Tests texts of a value against patterns of its schema, while the value is validated. */
interface Matcher {
  test(pattern: LinearPattern, text: string): boolean;
}

/** The functions of a pattern that ajv calls. ajv distinguishes patterns by the result of `toString`. */
interface PatternTest {
  test(text: string): boolean;
  toString(): string;
}

/**
 * The patterns of one schema. Each pattern is compiled once, when it is first needed; this takes 5 µs for each state of
 * the pattern. RE2 takes time linear in the text (0.1 to 0.6 µs for 15 characters, 15 ms for a million). A regular
 * expression of JavaScript takes exponential time in the worst case, which is too long even for a text of 28
 * characters.
 */
export class LinearPatterns {
  readonly #compiled = new Map<string, LinearPattern | SyntaxError>();
  /** The matcher of the value that is being validated. */
  #matcher: Matcher | undefined;

  /**
   * Returns a pattern for ajv. @throws SyntaxError for a pattern that RE2 does not support, for example with
   * look-around or a back reference.
   */
  get(pattern: string): PatternTest {
    const compiled = this.#compile(pattern);
    if (compiled instanceof SyntaxError) throw compiled;
    return { test: (text) => this.#test(compiled, text), toString: () => pattern };
  }

  /**
   * Compiles a pattern. Returns the work that this took: the number of states of the pattern, or the length of a
   * pattern that RE2 does not support.
   */
  prepare(pattern: string): number {
    const compiled = this.#compile(pattern);
    return compiled instanceof SyntaxError ? pattern.length : compiled.states;
  }

  /** Returns the reason why RE2 does not support a pattern; undefined when it does. */
  problemOf(pattern: string): string | undefined {
    const compiled = this.#compile(pattern);
    if (!(compiled instanceof SyntaxError)) return undefined;
    return compiled.cause instanceof Error ? compiled.cause.message : compiled.message;
  }

  /**
   * Returns true when a text matches; false for a pattern that RE2 does not support. The registration of a model and
   * the check of a definition refuse such a pattern, but a definition may have been stored when older rules applied.
   * False causes a violation, which does not prevent a write that changes only metadata. An error would make even such
   * a write fail.
   */
  matches(pattern: string, text: string): boolean {
    const compiled = this.#compile(pattern);
    return !(compiled instanceof SyntaxError) && this.#test(compiled, text);
  }

  /** Calls `judge`, which validates a value. The matcher decides which patterns match during the call. */
  matchBy<R>(matcher: Matcher, judge: () => R): R {
    this.#matcher = matcher;
    try {
      return judge();
    } finally {
      this.#matcher = undefined;
    }
  }

  #test(pattern: LinearPattern, text: string): boolean {
    return this.#matcher === undefined ? pattern.test(text) : this.#matcher.test(pattern, text);
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
    const sliced = new SlicedPattern(expression);
    return {
      test: (text) => expression.test(text),
      match: (text) => sliced.match(text),
      states: expression.programSize(),
    };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return new SyntaxError(`the pattern '${pattern}' is not supported by RE2: ${reason}`, { cause });
  }
}
