import type { Clock } from '../../api/index.ts';
import { systemClock } from '../../clock/system-clock.ts';

/** The argument that the simulated system passes first to each of its operations: its state and its clock. */
export interface OperationContext<S> {
  /** The state of the system, which operations change in place. */
  readonly state: S;
  readonly clock: Clock;
}

/** The functions that implement the operations. When one throws an error, the call of the operation rejects with it. */
export type OperationFunctions<S> = Readonly<
  Record<string, (context: OperationContext<S>, ...args: never[]) => unknown>
>;

/**
 * The operations as controllers call them: without the first argument, the {@link OperationContext}, which the
 * simulated system adds. They always return a promise.
 */
export type Operations<F> = {
  readonly [N in keyof F]: F[N] extends (context: never, ...args: infer A) => infer R
    ? (this: void, ...args: A) => Promise<Awaited<R>>
    : never;
};

export interface ExternalSystemOptions<S, F> {
  /** The name of the system in reports of failures. Default `external system`. */
  readonly name?: string;
  /** The clock that measures delays, and that operations receive. Default: the system clock. */
  readonly clock?: Clock;
  /** Returns the state at the start and after each reset: data that structuredClone can copy. */
  readonly initialState: (this: void) => S;
  readonly operations: F;
}

/**
 * The fault of one call. Without `error`, the call rejects with a default error, whose message contains "(injected)".
 */
export type CallFault =
  /** The operation is not carried out, and the call rejects. */
  | { readonly kind: 'fail'; readonly error?: Error }
  /** The operation is carried out, and the call rejects. */
  | { readonly kind: 'loseAnswer'; readonly error?: Error }
  /** The operation is carried out only when this promise has settled. */
  | { readonly kind: 'delay'; readonly until: Promise<unknown> }
  /** The operation is carried out after this time on the system's clock, in milliseconds. */
  | { readonly kind: 'delay'; readonly forMs: number };

/** A call and its outcome. */
export interface RecordedCall {
  readonly operation: string;
  /** The arguments that the caller passed. They are not copied. */
  readonly args: readonly unknown[];
  /** The outcome of the call; `pending` until the call settles. */
  readonly outcome: 'pending' | 'ok' | 'error';
  /** The error with which the call rejected. */
  readonly error?: unknown;
  /** The fault of the call; `down` while the system is down. */
  readonly fault?: CallFault['kind'] | 'down';
  /** The reconcileID of the run; present only if the call was made through {@link ExternalSystem.calledBy}. */
  readonly reconcileID?: string;
}

/** A fake of an external system that controllers change. Its state survives a restart of the controllers. */
export interface ExternalSystem<S = unknown, F = unknown> {
  readonly name: string;
  /** The operations of the fake, as controllers call them. */
  readonly operations: Operations<F>;
  /** Returns the operations for one run. Their calls are recorded with the reconcileID of the run. */
  calledBy(run: { readonly reconcileID: string }): Operations<F>;
  /** Every call since the last reset, in order, including those with a fault. */
  readonly calls: readonly RecordedCall[];
  /** A copy of the state. */
  state(): S;
  /**
   * Injects a fault into the next call for which `matches` returns true; default: the next call. Several faults apply
   * in order, each once.
   */
  inject(fault: CallFault, matches?: (call: RecordedCall) => boolean): void;
  /**
   * Takes the system down: new calls reject without an effect, until the returned function is called or the system is
   * reset.
   */
  takeDown(error?: Error): () => void;
  /**
   * Sets the initial state again, and removes all recorded calls and faults. Operations that are still delayed change
   * only the former state. If `clock` is given, this fake system uses it from then on.
   */
  reset(options?: { readonly clock?: Clock }): void;
}

type Recorded = { -readonly [K in keyof RecordedCall]: RecordedCall[K] };
type Call = (operation: string, args: readonly unknown[], reconcileID?: string) => Promise<unknown>;

/** Makes a fake of an external system: operations on a state, a record of all calls, and faults. */
export function createExternalSystem<S, const F extends OperationFunctions<S>>(
  options: ExternalSystemOptions<S, F>,
): ExternalSystem<S, F> {
  const system = new FakeSystem(options);
  const call: Call = (...given) => system.call(...given);
  return {
    name: system.name,
    operations: operationsOf(options.operations, call),
    calledBy: ({ reconcileID }) =>
      operationsOf(options.operations, (operation, args) => call(operation, args, reconcileID)),
    get calls() {
      return system.calls;
    },
    state: () => system.state(),
    inject: (fault, matches) => system.inject(fault, matches),
    takeDown: (error) => system.takeDown(error),
    reset: (given) => system.reset(given),
  };
}

function operationsOf<F extends object>(functions: F, call: Call): Operations<F>;
function operationsOf(functions: object, call: Call): object {
  const bound: Record<string, (...args: readonly unknown[]) => Promise<unknown>> = {};
  for (const name of Object.keys(functions)) bound[name] = (...args) => call(name, args);
  return bound;
}

class FakeSystem<S, F extends OperationFunctions<S>> {
  readonly name: string;
  readonly #options: ExternalSystemOptions<S, F>;
  #clock: Clock;
  #state: S;
  #calls: Recorded[] = [];
  #waiting: { readonly fault: CallFault; readonly matches: (call: RecordedCall) => boolean }[] = [];
  #outages = new Map<symbol, Error | undefined>();

  constructor(options: ExternalSystemOptions<S, F>) {
    this.#options = options;
    this.name = options.name ?? 'external system';
    this.#clock = options.clock ?? systemClock;
    this.#state = options.initialState();
  }

  get calls(): readonly RecordedCall[] {
    return this.#calls;
  }

  state(): S {
    return structuredClone(this.#state);
  }

  inject(fault: CallFault, matches: (call: RecordedCall) => boolean = () => true): void {
    this.#waiting.push({ fault, matches });
  }

  takeDown(error?: Error): () => void {
    const outages = this.#outages;
    const outage = Symbol('outage');
    outages.set(outage, error);
    return () => void outages.delete(outage);
  }

  reset({ clock = this.#clock }: { readonly clock?: Clock } = {}): void {
    this.#clock = clock;
    this.#state = this.#options.initialState();
    this.#calls = [];
    this.#waiting = [];
    this.#outages = new Map();
  }

  async call(operation: string, args: readonly unknown[], reconcileID?: string): Promise<unknown> {
    const call: Recorded = {
      operation,
      args,
      outcome: 'pending',
      ...(reconcileID === undefined ? {} : { reconcileID }),
    };
    this.#calls.push(call);
    try {
      const answer = await this.#meet(call);
      call.outcome = 'ok';
      return answer;
    } catch (error) {
      call.outcome = 'error';
      call.error = error;
      throw error;
    }
  }

  async #meet(call: Recorded): Promise<unknown> {
    const [outage] = this.#outages;
    if (outage !== undefined) {
      call.fault = 'down';
      throw outage[1] ?? this.#error(call, 'is down');
    }
    // If the system was reset during the delay, the operation must not change the new state.
    const context = { state: this.#state, clock: this.#clock };
    const fault = this.#takeFault(call);
    if (fault !== undefined) call.fault = fault.kind;
    if (fault?.kind === 'fail') throw fault.error ?? this.#error(call, 'fails');
    if (fault?.kind === 'delay') await this.#delay(fault);
    const answer = await this.#carryOut(call, context);
    if (fault?.kind === 'loseAnswer') throw fault.error ?? this.#error(call, 'has lost its response');
    return answer;
  }

  #takeFault(call: RecordedCall): CallFault | undefined {
    const index = this.#waiting.findIndex(({ matches }) => matches(call));
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0]?.fault;
  }

  async #delay(fault: CallFault & { readonly kind: 'delay' }): Promise<void> {
    if ('until' in fault) await Promise.allSettled([fault.until]);
    else await new Promise<void>((resolve) => this.#clock.setTimeout(resolve, fault.forMs));
  }

  async #carryOut({ operation, args }: RecordedCall, context: OperationContext<S>): Promise<unknown> {
    const carryOut = this.#options.operations[operation];
    // The type Operations<F> ensures that the arguments have the types of the function's parameters.
    return carryOut === undefined ? undefined : Reflect.apply(carryOut, undefined, [context, ...args]);
  }

  #error({ operation }: RecordedCall, what: string): Error {
    return new Error(`${this.name}: ${operation} ${what} (injected)`);
  }
}
