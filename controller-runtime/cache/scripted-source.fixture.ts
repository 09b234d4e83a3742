import type { ApiObject, Model, ObjectList, WatchEvent } from '../api/index.ts';
import type { Client, ListOptions, WatchOptions } from '../client/client.ts';
import { personList } from '../client/example-person.fixture.ts';
import type { Person } from '../client/example-person.fixture.ts';

/** One watch, whose events the test emits. */
export interface ScriptedWatch {
  emit(event: WatchEvent<Person>): void;
  /** Ends the watch normally. */
  end(): void;
  fail(error: unknown): void;
}

type Step = { readonly event: WatchEvent<Person> } | { readonly end: true } | { readonly error: unknown };

/** A client whose list and watch return scripted responses. */
export class ScriptedSource implements Pick<Client, 'list' | 'watch'> {
  /** The recorded calls in order, as `list`, `list <token>` or `watch <revision>`. */
  readonly calls: string[] = [];
  /** The number of open watches. */
  active = 0;
  /** Called at each list with the number of lists so far, including this one. */
  onList: (count: number) => void = () => {};
  /** The response to lists that have no scripted response. If it is undefined, such a list rejects. */
  lastList: { readonly revision: string; readonly items: readonly Person[] } | undefined;
  #listCount = 0;
  readonly #lists: (() => Promise<object>)[] = [];
  readonly #watches: StepQueue[] = [];

  /** Lets the next list return these objects. */
  answerList(resourceVersion: string, items: readonly Person[], token?: string): void {
    const list = personList(resourceVersion, items) as { metadata: object };
    const metadata = { ...list.metadata, ...(token === undefined ? {} : { continue: token }) };
    this.#lists.push(async () => ({ ...list, metadata }));
  }

  /** Lets the next list reject. */
  failList(error: unknown): void {
    this.#lists.push(() => Promise.reject(error));
  }

  /**
   * Scripts a watch, which a call of `watch` opens: the first call opens the watch that was scripted first, and so on.
   */
  nextWatch(): ScriptedWatch {
    const queue = new StepQueue();
    this.#watches.push(queue);
    return {
      emit: (event) => queue.push({ event }),
      end: () => queue.push({ end: true }),
      fail: (error) => queue.push({ error }),
    };
  }

  async list<T extends ApiObject>(_model: Model<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    this.calls.push(options.continue === undefined ? 'list' : `list ${options.continue}`);
    this.#listCount += 1;
    this.onList(this.#listCount);
    const answer = this.#lists.shift();
    if (answer !== undefined) return (await answer()) as ObjectList<T>;
    if (this.lastList === undefined) throw new Error('no list is scripted');
    return personList(this.lastList.revision, this.lastList.items) as ObjectList<T>;
  }

  watch<T extends ApiObject>(_model: Model<T>, options: WatchOptions = {}): AsyncIterable<WatchEvent<T>> {
    this.calls.push(`watch ${options.resourceVersion}`);
    // A watch without a script has no events.
    return this.#events(this.#watches.shift() ?? new StepQueue(), options.signal) as AsyncIterable<WatchEvent<T>>;
  }

  async *#events(queue: StepQueue, signal: AbortSignal | undefined): AsyncGenerator<WatchEvent<Person>> {
    this.active += 1;
    try {
      for (let step = await queue.next(signal); 'event' in step; step = await queue.next(signal)) yield step.event;
    } finally {
      this.active -= 1;
    }
  }
}

class StepQueue {
  readonly #steps: Step[] = [];
  #wake: () => void = () => {};

  push(step: Step): void {
    this.#steps.push(step);
    this.#wake();
  }

  async next(signal: AbortSignal | undefined): Promise<Exclude<Step, { readonly error: unknown }>> {
    while (this.#steps.length === 0 && signal?.aborted !== true) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal?.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    const step = this.#steps.shift() ?? { end: true };
    if ('error' in step) throw step.error;
    return step;
  }
}
