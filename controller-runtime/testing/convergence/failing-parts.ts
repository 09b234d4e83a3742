import { formatKey, keyOf, type Clock } from '../../api/index.ts';
import type { ControllerDefinition } from '../../controller/definition/controller-definition.ts';
import type { MappedKeys, WatchSource } from '../../controller/definition/followed-kind.ts';
import type { KeySource } from '../../controller/definition/key-source.ts';
import type { Runnable } from '../../manager/runnable.ts';

/** Records the mappings, sources and runnables that have failed, and have not succeeded since. */
export class FailingParts {
  readonly #clock: Clock;
  readonly #failing = new Map<string, Failing>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the failures and their reasons, a line each. */
  list(): readonly string[] {
    const failing = [...this.#failing].filter(([, { isDown }]) => isDown);
    return failing.map(([part, { reason }]) => `${part}: ${reason}`);
  }

  /**
   * True when a mapping or a source has been failing for less than the given time. A failed runnable does not count,
   * because it is not retried.
   */
  isRetrying(forMs: number): boolean {
    const fromMs = this.#clock.monotonicMs() - forMs;
    return [...this.#failing.values()].some(
      ({ isDown, isRetried, sinceMs }) => isDown && isRetried && sinceMs > fromMs,
    );
  }

  /** Returns the controller, with mappings and sources whose failures are recorded. */
  watching(definition: ControllerDefinition): ControllerDefinition {
    const { name, watches, sources } = definition;
    return {
      ...definition,
      watches: watches.map((watch, index) => this.#mapping(`${name}, mapping ${index + 1} of`, watch)),
      sources: sources.map((source) => this.#source(`${name}, source "${source.name}"`, source)),
    };
  }

  /** Returns the runnable, with its failures recorded. */
  runnable(runnable: Runnable): Runnable {
    const run: Runnable['run'] = async (...given) => {
      const [signal] = given;
      try {
        await runnable.run(...given);
      } catch (error) {
        if (!signal.aborted) this.#note(`runnable "${runnable.name}"`, error, false);
        throw error;
      }
    };
    return { ...runnable, run };
  }

  #mapping(part: string, source: WatchSource): WatchSource {
    const { map } = source;
    return {
      ...source,
      map: (object, context) => {
        const mapped = `${part} ${object.kind} "${formatKey(keyOf(object))}"`;
        const succeed = (keys: MappedKeys): MappedKeys => {
          this.#failing.delete(mapped);
          return keys;
        };
        const fail = (error: unknown): never => {
          this.#note(mapped, error);
          throw error;
        };
        try {
          const keys = map(object, context);
          // A synchronous mapping must remain synchronous.
          return keys instanceof Promise ? keys.then(succeed, fail) : succeed(keys);
        } catch (error) {
          return fail(error);
        }
      },
    };
  }

  #source(part: string, { name, keys }: KeySource): KeySource {
    const noted = this.#failing;
    const note = (error: unknown): void => this.#note(part, error);
    return {
      name,
      async *keys(context) {
        const before = noted.get(part);
        if (before !== undefined) noted.set(part, { ...before, isDown: false });
        try {
          for await (const key of keys(context)) {
            noted.delete(part);
            yield key;
          }
        } catch (error) {
          if (!context.signal.aborted) note(error);
          throw error;
        }
      },
    };
  }

  #note(part: string, error: unknown, isRetried = true): void {
    const { sinceMs } = this.#failing.get(part) ?? { sinceMs: this.#clock.monotonicMs() };
    const reason = error instanceof Error ? error.message : String(error);
    this.#failing.set(part, { reason, sinceMs, isRetried, isDown: true });
  }
}

interface Failing {
  readonly reason: string;
  /** The time of the first failure since the part last succeeded, on the monotonic clock. */
  readonly sinceMs: number;
  readonly isRetried: boolean;
  /**
   * False only for a failed source that has started again, and has yielded no key since. When it yields a key, its
   * failure is deleted.
   */
  readonly isDown: boolean;
}
