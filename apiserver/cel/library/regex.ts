import { LruCache } from '@homeostat/controller-runtime/api';
import { RE2JS } from 're2js';
import { overload } from '../types/declare-function.ts';
import type { Overload } from '../types/cel-function.ts';
import { CelError } from '../values/cel-error.ts';
import { ArrayList } from '../values/cel-value.ts';
import type { CostMeter } from '../values/cost-meter.ts';
import { SlicedPattern } from '../../schema/judge/sliced-pattern.ts';
import { estimateStates } from '../../schema/pattern-size.ts';
import { intAt, textAt } from './arguments.ts';

interface Pattern {
  readonly expression: RE2JS;
  readonly machine: SlicedPattern;
  readonly states: number;
}

/** The maximum number of states of one pattern. To compile that many takes 25 ms. */
const maxStates = 5000;

/** The units of cost that an expression pays for each state of a pattern that it compiles. One state takes 5 µs. */
const costPerState = 100;

/** The number of steps of a match (20 ns each) that take as long as one unit of cost (30 ns). */
const stepsPerCost = 1.5;

/**
 * A cache of compiled patterns. If too many other patterns are used, a pattern is dropped, and compiled again at its
 * next use.
 */
const patterns = new LruCache<string, Pattern>({ maxEntries: 500 });

/** Returns the functions for regular expressions. The time of one search is linear in the length of the text (RE2). */
export function regexOverloads(): readonly Overload[] {
  return [
    ...['string::matches(string) bool', 'matches(string, string) bool'].map((signature) =>
      overload(signature, (args, meter) => matches(textAt(args, 0), textAt(args, 1), meter)),
    ),
    overload(
      'string::find(string) string',
      (args, meter) => find(textAt(args, 0), textAt(args, 1), { most: 1, meter })[0] ?? '',
    ),
    overload(
      'string::findAll(string) list(string)',
      (args, meter) => new ArrayList(find(textAt(args, 0), textAt(args, 1), { most: Infinity, meter })),
    ),
    overload('string::findAll(string, int) list(string)', (args, meter) => {
      const limit = Number(intAt(args, 2));
      return new ArrayList(find(textAt(args, 0), textAt(args, 1), { most: limit < 0 ? Infinity : limit, meter }));
    }),
  ];
}

/**
 * Returns the reason why a pattern is refused: it has too many states, or RE2 cannot compile it. Returns undefined for
 * an accepted pattern, which is in the cache of compiled patterns afterwards.
 */
export function patternProblem(source: string): string | undefined {
  if (estimateStates(source) > maxStates) return `the automaton of the pattern has more than ${maxStates} states`;
  try {
    remember(source);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function matches(text: string, source: string, meter: CostMeter): boolean {
  const work = compiled(source, meter).machine.match(text);
  for (;;) {
    const part = work.next();
    if (part.done === true) return part.value;
    meter.add(part.value / stepsPerCost);
  }
}

interface FindLimits {
  readonly most: number;
  readonly meter: CostMeter;
}

/**
 * Returns the matches in a text. Each search begins at the end of the match before. A search cannot be interrupted, so
 * the longest time that it could take is added to the cost of the evaluation before the search begins.
 */
function find(text: string, source: string, { most, meter }: FindLimits): readonly string[] {
  const { expression, states } = compiled(source, meter);
  const found: string[] = [];
  const matcher = expression.matcher(text);
  let from = 0;
  while (found.length < most) {
    meter.add((text.length - from + 1) * states * 2);
    if (!matcher.find()) break;
    found.push(matcher.group() ?? '');
    from = Math.max(from, matcher.end());
  }
  return found;
}

function compiled(source: string, meter: CostMeter): Pattern {
  const known = patterns.get(source);
  if (known !== undefined) return known;
  const estimate = estimateStates(source);
  if (estimate > maxStates) throw new CelError(`the automaton of the pattern has more than ${maxStates} states`);
  meter.add(estimate * costPerState);
  try {
    return remember(source);
  } catch (error) {
    throw new CelError(`Illegal regex: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** @throws RE2JSException */
function remember(source: string): Pattern {
  const expression = RE2JS.compile(RE2JS.translateRegExp(source));
  const pattern = { expression, machine: new SlicedPattern(expression), states: expression.programSize() };
  patterns.set(source, pattern);
  return pattern;
}
