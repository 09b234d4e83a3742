import type { RunRecord } from '../../controller/observe/run-history.ts';
import type { Manager } from '../../manager/manager.ts';

const failures: ReadonlySet<RunRecord['result']> = new Set(['error', 'timeout', 'terminal', 'conflict']);

/** The failed last run of a key, and its controller. */
export interface FailedRun {
  readonly controller: string;
  readonly run: RunRecord;
}

/** Returns the last run of each key whose last run failed. */
export function failedRuns(manager: Manager): readonly FailedRun[] {
  return manager.controllers().flatMap(({ name }) =>
    manager
      .runs(name)
      .filter(({ result }) => failures.has(result))
      .map((run) => ({ controller: name, run })),
  );
}

/** Describes a failure for people: `guest "ada", 3 failures: no cards left`. */
export function describeFailure({ controller, run }: FailedRun): string {
  const { key, attempts, error = 'conflicts' } = run;
  const times = attempts === 0 ? '1 failure' : `${attempts + 1} failures`;
  return `${controller} "${key}", ${times}: ${error}`;
}
