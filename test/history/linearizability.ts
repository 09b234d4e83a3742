/** The times of the call and of the response of an operation. */
export interface Timed {
  readonly call: number;
  /** Infinity when the outcome is unknown. Then the operation takes effect at any time after the call, or never. */
  readonly return: number;
}

/** The behaviour of one object when its operations come one after the other. */
export interface SequentialModel<State, Operation> {
  readonly initial: State;
  /**
   * Returns the state after an operation; undefined if the operation cannot have its recorded response when it begins
   * in `state`. For an operation that changes nothing, such as a read, returns `state` itself: the search of
   * {@link findUnexplained} then puts this operation next in its order, and tries no other one in this place. The
   * search misses no order of the writes, because the operation does not change the state. For a write that changes the
   * object, returns a new state object.
   */
  step(state: State, operation: Operation): State | undefined;
  /** Returns the same text for equal states. */
  formatState(state: State): string;
  /** Returns the same text for two operations with unknown outcomes that are interchangeable. */
  effectOf(operation: Operation): string;
}

/** The first operation whose response no order explains. */
export interface Unexplained<State, Operation> {
  readonly operation: Operation;
  /**
   * The states that the object can have before this operation. Each is the result of an order of operations that
   * explains all earlier responses.
   */
  readonly states: readonly State[];
}

/**
 * A possible history up to a moment: the object's state, and the pending operations that have taken effect. Pending
 * operations have no response yet.
 */
interface Configuration<State> {
  readonly state: State;
  readonly done: ReadonlySet<number>;
}

/**
 * The maximum number of {@link Configuration} objects that {@link findUnexplained} visits for one response. A history
 * that needs more is too long, or has too many operations with unknown outcomes.
 */
const maxConfigurations = 200_000;

/**
 * Searches for an order of the operations that explains every response and keeps real time: an operation comes before
 * all operations that were called after its response. Returns undefined when such an order exists; otherwise the first
 * operation whose response no order explains. The search is that of Wing and Gong (1993), with the improvement of
 * Lowe (2017): for each response, it visits each pair of an object's state and a set of executed operations only once.
 */
export function findUnexplained<State, Operation extends Timed>(
  operations: readonly Operation[],
  model: SequentialModel<State, Operation>,
): Unexplained<State, Operation> | undefined {
  return new Search(operations, model).run();
}

class Search<State, Operation extends Timed> {
  readonly #operations: readonly Operation[];
  readonly #model: SequentialModel<State, Operation>;
  /** The numbers of the pending operations, which are called and have no response yet. */
  readonly #underWay = new Set<number>();

  constructor(operations: readonly Operation[], model: SequentialModel<State, Operation>) {
    this.#operations = operations;
    this.#model = model;
  }

  run(): Unexplained<State, Operation> | undefined {
    let configurations: readonly Configuration<State>[] = [{ state: this.#model.initial, done: new Set() }];
    for (const { id, isCall } of this.#moments()) {
      if (isCall) {
        this.#underWay.add(id);
        configurations = configurations.map((configuration) => this.#withReads(configuration));
        continue;
      }
      const explained = this.#explain(id, configurations);
      if (explained.length === 0) {
        return { operation: this.#operation(id), states: configurations.map(({ state }) => state) };
      }
      this.#underWay.delete(id);
      configurations = this.#forget(id, explained);
    }
    return undefined;
  }

  /** Returns the calls and responses in the order of time. */
  #moments(): { id: number; isCall: boolean }[] {
    const moments = this.#operations.flatMap((operation, id) => [
      { id, isCall: true, at: operation.call },
      ...(this.#isUnknown(id) ? [] : [{ id, isCall: false, at: operation.return }]),
    ]);
    // At equal moments, calls come before responses, so that an operation that begins when another one ends is
    // concurrent with it.
    return moments.sort((a, b) => a.at - b.at || Number(b.isCall) - Number(a.isCall));
  }

  /**
   * Continues the possible histories in `from`: lets pending operations take effect in every possible order, until the
   * operation `id` takes effect. Returns the resulting histories.
   */
  #explain(id: number, from: readonly Configuration<State>[]): readonly Configuration<State>[] {
    const met = new Memory<State>((configuration) => this.#keyOf(configuration));
    for (const configuration of from) met.add(configuration);
    const found: Configuration<State>[] = [];
    // The loop also visits configurations that it adds to the list, so the search is breadth first.
    for (const configuration of met.list) {
      if (configuration.done.has(id)) found.push(configuration);
      else for (const next of this.#successors(configuration)) met.add(next);
      if (met.list.length > maxConfigurations) {
        throw new Error(`undecided after ${maxConfigurations} configurations: too many outcomes are unknown`);
      }
    }
    return found;
  }

  #successors({ state, done }: Configuration<State>): Configuration<State>[] {
    const tried = new Set<string>();
    const next: Configuration<State>[] = [];
    for (const id of this.#underWay) {
      if (done.has(id)) continue;
      if (this.#isUnknown(id)) {
        const effect = this.#model.effectOf(this.#operation(id));
        if (tried.has(effect)) continue;
        tried.add(effect);
      }
      const after = this.#model.step(state, this.#operation(id));
      if (after === undefined || after === state) continue;
      next.push(this.#withReads({ state: after, done: new Set(done).add(id) }));
    }
    return next;
  }

  /**
   * Lets pending operations that do not change `state`, such as reads, take effect now: adds their numbers to `done`,
   * the set of the pending operations that have taken effect. Leaves out operations with an unknown outcome. Returns
   * the new configuration.
   */
  #withReads({ state, done }: Configuration<State>): Configuration<State> {
    const reads = [...this.#underWay].filter(
      (id) => !done.has(id) && !this.#isUnknown(id) && this.#model.step(state, this.#operation(id)) === state,
    );
    return reads.length === 0 ? { state, done } : { state, done: new Set([...done, ...reads]) };
  }

  /**
   * Called for an operation that has got its response, with the possible histories in which it has taken effect.
   * Removes the operation from the set `done` of each history: this set has only operations without a response.
   */
  #forget(id: number, configurations: readonly Configuration<State>[]): readonly Configuration<State>[] {
    const left = new Memory<State>((configuration) => this.#keyOf(configuration));
    for (const { state, done } of configurations) {
      left.add({ state, done: new Set([...done].filter((each) => each !== id)) });
    }
    return left.list;
  }

  #keyOf({ state, done }: Configuration<State>): { key: string; optional: readonly number[] } {
    const known = [...done].filter((id) => !this.#isUnknown(id)).sort((a, b) => a - b);
    const optional = [...done].filter((id) => this.#isUnknown(id));
    return { key: `${this.#model.formatState(state)} ${known.join()}`, optional };
  }

  #operation(id: number): Operation {
    return this.#operations[id]!;
  }

  #isUnknown(id: number): boolean {
    return this.#operations[id]!.return === Infinity;
  }
}

/**
 * The configurations found so far. A configuration is a possible state of the object, with the pending operations that
 * have taken effect. `add` drops a new configuration if the list has one with the same state and the same operations,
 * or with the same ones except some of unknown outcome. In the configuration from the list, the missing operations
 * may still take effect later, or never, so the search loses nothing.
 */
class Memory<State> {
  readonly list: Configuration<State>[] = [];
  readonly #keyOf: (configuration: Configuration<State>) => { key: string; optional: readonly number[] };
  readonly #used = new Map<string, ReadonlySet<number>[]>();

  constructor(keyOf: (configuration: Configuration<State>) => { key: string; optional: readonly number[] }) {
    this.#keyOf = keyOf;
  }

  add(configuration: Configuration<State>): void {
    const { key, optional } = this.#keyOf(configuration);
    const used = this.#used.get(key) ?? [];
    if (used.some((fewer) => isSubset(fewer, optional))) return;
    used.push(new Set(optional));
    this.#used.set(key, used);
    this.list.push(configuration);
  }
}

function isSubset(fewer: ReadonlySet<number>, more: readonly number[]): boolean {
  return fewer.size <= more.length && more.filter((id) => fewer.has(id)).length === fewer.size;
}
