/** An operation in time. */
export interface Timed {
  readonly call: number;
  /** Infinity when the outcome is unknown: it takes effect at any time after the call, or never. */
  readonly return: number;
}

/** What one object does when its operations come one after the other. */
export interface SequentialModel<State, Operation> {
  readonly initial: State;
  /**
   * The state after an operation, if it can be answered in this one as it was; else undefined. What only reads answers the
   * same state, and not an equal one: it is placed wherever it fits, since that hinders no other. What writes never does.
   */
  step(state: State, operation: Operation): State | undefined;
  /** Equal for equal states. */
  formatState(state: State): string;
  /** Two operations of unknown outcome are interchangeable if this returns the same text for both. */
  effectOf(operation: Operation): string;
}

/** The first operation whose answer no order explains. */
export interface Unexplained<State, Operation> {
  readonly operation: Operation;
  /** All states that the object may have been in when it was answered, not counting what is under way then. */
  readonly states: readonly State[];
}

/** What may have happened up to a moment: the object's state, and which of the operations under way have taken effect. */
interface Configuration<State> {
  readonly state: State;
  readonly done: ReadonlySet<number>;
}

/** Each step of the search; a history that needs more is too long, or has too many unknown outcomes, to be decided. */
const maxConfigurations = 200_000;

/**
 * Looks for one order of the operations that explains every answer and keeps real time: what was answered comes before what
 * was called later. The search is that of Wing and Gong (1993) with the configurations that were met remembered (Lowe,
 * 2017), breadth first: at each answer it keeps all configurations in which that operation has taken effect, and when none
 * is left, no order exists. Answers undefined when there is one.
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
  /** Operations, by their number, that are called and not answered. */
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

  /** Calls and returns in the order of time. */
  #moments(): { id: number; isCall: boolean }[] {
    const moments = this.#operations.flatMap((operation, id) => [
      { id, isCall: true, at: operation.call },
      ...(this.#isUnknown(id) ? [] : [{ id, isCall: false, at: operation.return }]),
    ]);
    // At one moment, all calls come first: what touches is concurrent.
    return moments.sort((a, b) => a.at - b.at || Number(b.isCall) - Number(a.isCall));
  }

  /** All configurations in which the operation has taken effect, each reached by as few others as possible. */
  #explain(id: number, from: readonly Configuration<State>[]): readonly Configuration<State>[] {
    const met = new Memory<State>((configuration) => this.#keyOf(configuration));
    for (const configuration of from) met.add(configuration);
    const found: Configuration<State>[] = [];
    // It grows while it is walked: breadth first.
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

  /** With all that is under way and only reads this state. */
  #withReads({ state, done }: Configuration<State>): Configuration<State> {
    const reads = [...this.#underWay].filter(
      (id) => !done.has(id) && !this.#isUnknown(id) && this.#model.step(state, this.#operation(id)) === state,
    );
    return reads.length === 0 ? { state, done } : { state, done: new Set([...done, ...reads]) };
  }

  /** The operation is answered: all configurations have it, and need not remember that. */
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
 * The configurations that were met. Of two that differ only in operations of unknown outcome, which never have to take
 * effect, the one that has used fewer of them can do all that the other can: the other is left out.
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
