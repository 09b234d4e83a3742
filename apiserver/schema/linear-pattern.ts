import { RE2JS } from 're2js';

/** What ajv and the explainer need of a pattern. */
export interface LinearPattern {
  test(text: string): boolean;
  /** The pattern itself: ajv tells patterns apart by it. */
  toString(): string;
}

/**
 * The patterns of one schema, compiled once. RE2 takes time linear in the text (0.1 to 0.6 µs for 15 characters, 7 ms for
 * a million), where the regular expressions of JavaScript can burn the CPU on 28 characters.
 */
export class LinearPatterns {
  readonly #compiled = new Map<string, LinearPattern>();

  /** @throws SyntaxError for a pattern that RE2 cannot hold, such as look-around or a back reference. */
  get(pattern: string): LinearPattern {
    const known = this.#compiled.get(pattern);
    if (known !== undefined) return known;
    const expression = compile(pattern);
    const compiled = { test: (text: string): boolean => expression.test(text), toString: (): string => pattern };
    this.#compiled.set(pattern, compiled);
    return compiled;
  }
}

function compile(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new SyntaxError(`the pattern '${pattern}' is not one that RE2 can hold: ${reason}`, { cause });
  }
}
