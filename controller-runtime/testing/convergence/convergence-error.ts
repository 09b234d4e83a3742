import { describeDifference } from './state-difference.ts';
import type { Difference } from './state-difference.ts';

export interface ConvergenceFailure {
  /** The failure, in one line. */
  readonly problem: string;
  /**
   * The seed of the random faults. Undefined for the run without faults and for runs with one fault, which are part of
   * every check.
   */
  readonly seed: number | undefined;
  /**
   * The injected faults that are necessary for the failure, in order, each with the request or event that it affected.
   */
  readonly faults: readonly string[];
  readonly differences: readonly Difference[];
  /** The keys whose last run failed, and the mappings, sources and runnables that failed, each with the reason. */
  readonly failing: readonly string[];
  /**
   * The error that ended the run, such as an error of the scenario or a broken invariant. For a run that came to its
   * end with failures, the last error that the controllers' manager logged.
   */
  readonly cause?: unknown;
}

const maxLines = 20;

/**
 * The error of a check in which a run failed, reached another final state than the run without faults, or ended with
 * permanent failures. The message has all that is needed to repeat the run.
 */
export class ConvergenceError extends Error {
  readonly seed: number | undefined;
  readonly faults: readonly string[];
  readonly differences: readonly Difference[];

  constructor(failure: ConvergenceFailure) {
    super(messageOf(failure), failure.cause === undefined ? {} : { cause: failure.cause });
    this.name = 'ConvergenceError';
    this.seed = failure.seed;
    this.faults = failure.faults;
    this.differences = failure.differences;
  }
}

function messageOf({ problem, seed, faults, differences, failing }: ConvergenceFailure): string {
  const section = (title: string, lines: readonly string[]): readonly string[] => {
    if (lines.length === 0) return [];
    const more = lines.length > maxLines ? [`and ${lines.length - maxLines} more`] : [];
    return [`${title}:`, ...[...lines.slice(0, maxLines), ...more].map((line) => `  ${line}`)];
  };
  return [
    problem,
    ...section('faults', faults),
    ...section('difference to the run without faults', differences.map(describeDifference)),
    ...section('still failing', failing),
    ...(faults.length === 0 && seed === undefined ? [] : [`run it again with seeds: [${seed ?? ''}]`]),
  ].join('\n');
}
