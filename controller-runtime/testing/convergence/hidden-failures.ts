import type { FailedRun } from './failed-runs.ts';
import { describeFailure } from './failed-runs.ts';

/**
 * Remembers the keys that fail at rest until they succeed. When a key fails as long as its object exists, and the
 * scenario then deletes the object, no failure remains at the end, but such a run proves nothing.
 */
export class HiddenFailures {
  readonly #failing = new Map<string, FailedRun>();

  /** Called at rest. `exists` tells whether the object of a key is there. */
  async note(failing: readonly FailedRun[], exists: (failed: FailedRun) => Promise<boolean>): Promise<void> {
    const present = new Map(failing.map((each) => [idOf(each), each]));
    for (const [id, failed] of this.#failing) {
      if (!present.has(id) && (await exists(failed))) this.#failing.delete(id);
    }
    for (const [id, failed] of present) this.#failing.set(id, failed);
  }

  /** Returns those that no longer fail because their object is gone, a line each. */
  list(failing: readonly FailedRun[]): readonly string[] {
    const present = new Set(failing.map(idOf));
    return [...this.#failing]
      .filter(([id]) => !present.has(id))
      .map(([, failed]) => `${describeFailure(failed)}; then its object was deleted`);
  }
}

function idOf({ controller, run }: FailedRun): string {
  return `${controller} ${run.key}`;
}
