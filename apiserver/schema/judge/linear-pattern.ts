import { RE2JS } from 're2js';
import type { MeasuredWork } from '../../turns/in-turns.ts';
import { SlicedPattern } from './sliced-pattern.ts';

/** A compiled pattern. */
export interface LinearPattern {
  test(text: string): boolean;
  /** Matches a text in parts; yields the number of steps of each. */
  match(text: string): MeasuredWork<boolean>;
  /** The number of states of the compiled pattern. */
  readonly states: number;
}

/** Decides the matches of one value while it is validated. */
interface Matcher {
  test(pattern: LinearPattern, text: string): boolean;
}

/** The interface of a pattern that ajv needs; ajv distinguishes patterns by their text. */
interface PatternTest {
  test(text: string): boolean;
  toString(): string;
}

/**
 * The patterns of one schema. Each is compiled once, when it is first needed, which takes 5 µs for each of its states.
 * RE2 takes time linear in the text (0.1 to 0.6 µs for 15 characters, 15 ms for a million), while a regular expression
 * of JavaScript can take exponential time for 28 characters.
 */
export class LinearPatterns {
  readonly #compiled = new Map<string, LinearPattern | SyntaxError>();
  /** The matcher of the value that is being validated. */
  #matcher: Matcher | undefined;

  /** Returns a pattern for ajv. @throws SyntaxError for one that RE2 does not support, such as look-around or a back reference. */
  get(pattern: string): PatternTest {
    const compiled = this.#compile(pattern);
    if (compiled instanceof SyntaxError) throw compiled;
    return { test: (text) => this.#test(compiled, text), toString: () => pattern };
  }

  /** Compiles a pattern; returns its states, which are the work that it took. */
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
   * True when a text matches. A pattern that RE2 does not support matches nothing: registration and the check of
   * definitions refuse it, but a definition may have been stored under older rules, and then the writes of its
   * objects must not all fail.
   */
  matches(pattern: string, text: string): boolean {
    const compiled = this.#compile(pattern);
    return !(compiled instanceof SyntaxError) && this.#test(compiled, text);
  }

  /** Validates a value by `judge`; the matcher decides its matches meanwhile. */
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
