import { apiVersionOf, fieldChanges, formatKey, ignoreNotFound } from '../api/index.ts';
import type { ApiObject, Clock, FieldChange, ModelDescriptor, ObjectKey } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import { systemClock } from '../clock/system-clock.ts';
import { followedModels } from '../controller/definition/controller-definition.ts';
import type { ControllerDefinition } from '../controller/definition/controller-definition.ts';
import type { ReconcileRequest, ReconcileResult } from '../controller/definition/reconciler.ts';
import { describeRequest, InterceptedClient } from './fakes/intercepted-client.ts';
import type { ClientRequest, Interceptor } from './fakes/intercepted-client.ts';
import { SeenObjects } from './fakes/seen-objects.ts';

/** The run that made a write. */
export interface RunOfWrite {
  readonly reconcileID: string;
  /**
   * The name of the controller; absent for a write that the runtime sends before it calls the reconciler, such as the
   * write that adds a finalizer.
   */
  readonly controller?: string;
  readonly key?: ObjectKey;
  /**
   * The reasons why the key was enqueued, such as `event ADDED` or `owner Badge ada`. Empty when the property
   * `controller` is absent.
   */
  readonly reasons: readonly string[];
}

/** One write of a run, and its changes. */
export interface WriteStep {
  readonly request: ClientRequest;
  readonly run: RunOfWrite;
  /**
   * The object before the write; absent when it did not exist. If no controller follows the kind: the object as the
   * client last received it; absent when the client never received it.
   */
  readonly before?: ApiObject;
  /** The object after the write; absent when it is gone, or the write failed. */
  readonly after?: ApiObject;
  /** The fields that differ between `before` and `after`, without those that only the server sets. */
  readonly changes: readonly FieldChange[];
  /** The error of a failed write. */
  readonly error?: unknown;
}

/** The invariants, by name: functions that throw or reject when the invariant is broken. */
export type KitInvariants = Readonly<Record<string, (client: Client) => unknown>>;

export interface RunWritesParts {
  readonly client: Client;
  readonly clock: Clock | undefined;
  readonly controllers: readonly ControllerDefinition[];
  readonly invariants: KitInvariants;
  /** If true, each write waits until {@link RunWrites.next} or {@link RunWrites.open} is called. */
  readonly isHolding: boolean;
}

interface Waiting {
  readonly pass: () => void;
  readonly end: (error: Error) => void;
}

/** Sends the writes of runs one at a time, and checks the invariants before and after each write. */
export class RunWrites implements Interceptor {
  /** The client for the controllers; its informers have caches of their own. */
  readonly client: Client;
  readonly #parts: RunWritesParts;
  readonly #models: ReadonlyMap<string, ModelDescriptor>;
  readonly #runs = new Map<string, RunOfWrite>();
  readonly #seen = new SeenObjects();
  readonly #waiting: Waiting[] = [];
  #isHolding: boolean;
  #isBusy = false;
  #permits = 0;
  #onStep: ((step: WriteStep) => void) | undefined;
  #broken: Error | undefined;
  #ended: Error | undefined;

  constructor(parts: RunWritesParts) {
    this.#parts = parts;
    this.#isHolding = parts.isHolding;
    const { client, clock = systemClock, controllers } = parts;
    this.#models = new Map(controllers.flatMap(followedModels).map((each) => [kindText(kindOfModel(each)), each]));
    this.client = new InterceptedClient({ client, interceptor: this, clock, random: () => 0.5 });
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Returns the controller in a form that records its runs. */
  watching(definition: ControllerDefinition): ControllerDefinition {
    const { name, reconcile, cleanup } = definition;
    const noted =
      <R extends ReconcileRequest>(run: (request: R) => ReconcileResult | Promise<ReconcileResult>) =>
      (request: R): ReconcileResult | Promise<ReconcileResult> => {
        const { reconcileID, key } = request;
        const reasons = request.reasons.map(({ type, detail }) => (detail === undefined ? type : `${type} ${detail}`));
        this.#runs.set(reconcileID, { reconcileID, controller: name, key, reasons });
        return run(request);
      };
    return {
      ...definition,
      reconcile:
        typeof reconcile === 'function'
          ? noted(reconcile)
          : { reconcile: noted((request: ReconcileRequest) => reconcile.reconcile(request)) },
      cleanup: cleanup === undefined ? undefined : noted(cleanup),
    };
  }

  /** Sends all writes, one at a time, until {@link hold} is called. */
  open(): void {
    this.#isHolding = false;
    this.#pump();
  }

  hold(): void {
    this.#isHolding = this.#parts.isHolding;
  }

  /** Sends one write that waits. Resolves when the write is done and the invariants are checked. */
  next(): Promise<WriteStep> {
    const step = new Promise<WriteStep>((resolve) => (this.#onStep = resolve));
    this.#permits += 1;
    this.#pump();
    return step;
  }

  /** Throws the error of the first broken invariant. */
  check(): void {
    if (this.#broken !== undefined) throw this.#broken;
  }

  /** Refuses the writes that wait, and all later writes. */
  end(): void {
    // Runs that end with this error are not reported as failed.
    this.#ended = Object.assign(new Error('the test kit has stopped'), { name: 'AbortError' });
    for (const { end } of this.#waiting.splice(0)) end(this.#ended);
  }

  async request<R>(request: ClientRequest, send: () => Promise<R>): Promise<R> {
    const { reconcileID } = request;
    if (!request.isWrite || reconcileID === undefined) {
      const answer = await send();
      this.#seen.note(answer);
      return answer;
    }
    await this.#turn();
    const run = this.#runs.get(reconcileID) ?? { reconcileID, reasons: [] };
    const before = await this.#read(request);
    await this.#ask(() => `before ${describeRequest(request)}; no run of these controllers broke the invariant`);
    let step: WriteStep = { request, run, ...(before && { before }), changes: [] };
    try {
      const answer = await send();
      const after = this.#seen.note(answer);
      step = { ...step, ...(after && { after }), changes: fieldChanges(before, after) };
      await this.#ask(() => `by ${describeStep(step)}`);
      return answer;
    } catch (error) {
      step = { ...step, error };
      throw error;
    } finally {
      this.#isBusy = false;
      this.#onStep?.(step);
      this.#onStep = undefined;
      this.#pump();
    }
  }

  watch: Interceptor['watch'] = (_request, open, signal) => open(signal ?? new AbortController().signal);

  #turn(): Promise<void> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const turn = new Promise<void>((pass, end) => this.#waiting.push({ pass, end }));
    this.#pump();
    return turn;
  }

  #pump(): void {
    if (this.#isBusy || (this.#isHolding && this.#permits === 0)) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#isBusy = true;
    this.#permits = Math.max(0, this.#permits - 1);
    next.pass();
  }

  async #read(request: ClientRequest): Promise<ApiObject | undefined> {
    const { name, namespace } = request;
    const model = this.#models.get(kindText(request));
    if (model === undefined || name === undefined) return this.#seen.find(request);
    return this.#parts.client.get(model, name, namespace === undefined ? {} : { namespace }).catch(ignoreNotFound);
  }

  async #ask(when: () => string): Promise<void> {
    if (this.#broken !== undefined) return;
    for (const [name, holds] of Object.entries(this.#parts.invariants)) {
      try {
        await holds(this.#parts.client);
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        this.#broken ??= new Error(`the invariant "${name}" was broken ${when()}\n  ${reason}`, { cause });
      }
    }
  }
}

/** Describes a step for people: the write and its run in one line, then each changed field in a line of its own. */
function describeStep({ request, run, changes }: WriteStep): string {
  const { controller, key, reasons, reconcileID } = run;
  const of = controller === undefined || key === undefined ? '' : ` of ${controller} "${formatKey(key)}"`;
  const why = reasons.length === 0 ? '' : ` (${reasons.join(', ')})`;
  const lines = changes.map(({ path, from, to }) => `  ${path}: ${textOf(from)} -> ${textOf(to)}`);
  return [`${describeRequest(request)}, in the run ${reconcileID}${of}${why}`, ...lines].join('\n');
}

function textOf(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}

function kindOfModel(model: ModelDescriptor): Pick<ApiObject, 'apiVersion' | 'kind'> {
  return { apiVersion: apiVersionOf(model), kind: model.kind };
}

function kindText({ apiVersion, kind }: Pick<ApiObject, 'apiVersion' | 'kind'>): string {
  return `${apiVersion} ${kind}`;
}
