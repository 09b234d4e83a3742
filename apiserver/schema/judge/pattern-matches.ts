import { stepsOf } from '../../turns/in-turns.ts';
import type { MeasuredWork } from '../../turns/in-turns.ts';
import type { Steps } from '../../turns/steps.ts';
import type { LinearPattern, LinearPatterns } from './linear-pattern.ts';

/**
 * The maximum work of re2js without a pause, in characters times states. This takes 10 ms in the worst case; usual
 * objects need a tenth of it.
 */
const maxAtOnce = 50_000;

/** The number of steps in one turn of the event loop, for matches that are computed in slices. The steps take 4 ms. */
const stepsPerTurn = 200_000;

/**
 * The maximum number of steps for one value. They take 0.4 s. A URL of 64 KiB takes some 400,000 steps, and a megabyte
 * of base64 takes 7,500,000.
 */
const maxSteps = 20_000_000;

/** The maximum number of steps for a value that is validated without a pause. The steps take 30 ms. */
export const maxStepsAtOnce = 1_500_000;

/**
 * The number of steps that {@link PatternMatches.decide} counts for each repeated validation of the value, in addition
 * to the steps of the matches. One validation takes at most 10 ms, the time of this number of steps.
 */
const stepsPerPass = 500_000;

interface Unmatched {
  readonly pattern: LinearPattern;
  readonly text: string;
}

/**
 * The matches that the validation of one value needs. A validation cannot pause. So a match that would take long is
 * first assumed to succeed. Then the match is computed in slices, and the value is validated again with the result.
 */
export class PatternMatches {
  readonly #patterns: LinearPatterns;
  readonly #maxSteps: number;
  #results: Map<LinearPattern, Map<string, boolean>> | undefined;
  #unmatched: Unmatched[] = [];
  #leftAtOnce = maxAtOnce;
  #steps = 0;

  constructor(patterns: LinearPatterns, steps: number = maxSteps) {
    this.#patterns = patterns;
    this.#maxSteps = steps;
  }

  /** Returns the result of `judge`; undefined when a match would take long, so that {@link decide} has to be called. */
  decideAtOnce<R>(judge: () => R): R | undefined {
    const verdict = this.#patterns.matchBy(this, judge);
    return this.#unmatched.length === 0 ? verdict : undefined;
  }

  /**
   * Returns the result of `judge`, which validates a value without a pause. While `judge` runs, each pattern match that
   * would take long is assumed to succeed. This method then computes these matches in short steps, and calls `judge`
   * again, until all matches are known. Returns undefined when the matches take too long.
   */
  *decide<R>(judge: () => R): Steps<R | undefined> {
    while (this.#steps <= this.#maxSteps) {
      this.#leftAtOnce = maxAtOnce;
      const verdict = this.#patterns.matchBy(this, judge);
      if (this.#unmatched.length === 0) return verdict;
      yield 'long';
      yield* stepsOf(this.#matchAll(), stepsPerTurn);
      this.#steps += stepsPerPass;
    }
    return undefined;
  }

  /** Returns true when a text matches. Also returns true when the match would take long, and is not computed yet. */
  test(pattern: LinearPattern, text: string): boolean {
    const known = this.#results?.get(pattern)?.get(text);
    if (known !== undefined) return known;
    const size = pattern.states * text.length;
    if (size <= this.#leftAtOnce) {
      this.#leftAtOnce -= size;
      return pattern.test(text);
    }
    this.#store(pattern, text, true);
    this.#unmatched.push({ pattern, text });
    return true;
  }

  *#matchAll(): MeasuredWork<void> {
    const unmatched = this.#unmatched;
    this.#unmatched = [];
    for (const { pattern, text } of unmatched) {
      const match = pattern.match(text);
      let part = match.next();
      for (; part.done !== true && this.#steps <= this.#maxSteps; part = match.next()) {
        this.#steps += part.value;
        yield part.value;
      }
      if (part.done !== true) return;
      this.#store(pattern, text, part.value);
    }
  }

  #store(pattern: LinearPattern, text: string, result: boolean): void {
    this.#results ??= new Map<LinearPattern, Map<string, boolean>>();
    const results = this.#results.get(pattern) ?? new Map<string, boolean>();
    this.#results.set(pattern, results.set(text, result));
  }
}
