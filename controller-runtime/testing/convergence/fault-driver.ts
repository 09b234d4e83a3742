import { ApiError, apiVersionOf, formatKey, keyOf } from '../../api/index.ts';
import type { ApiObject, ModelDescriptor, WatchEvent } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { InformerHandler } from '../../client/informer.ts';
import type { FakeClock } from '../fakes/fake-clock.ts';
import type { ClientFault, FaultSource } from '../fakes/faulty-requests.ts';
import type { WatchEnd } from '../fakes/faulty-watch.ts';
import { describeRequest } from '../fakes/intercepted-client.ts';
import type { ClientRequest } from '../fakes/intercepted-client.ts';
import { ControllerProcess } from './controller-process.ts';
import type { ConvergenceOptions } from './convergence-options.ts';
import { atOnce } from './fault-plan.ts';
import type { EventFault, FaultPlan, RequestFault, Restart, RunExtent, WriteFault } from './fault-plan.ts';
import type { KindHistory } from './kind-history.ts';

export interface DriverParts {
  /** A client without faults. */
  readonly client: Client;
  readonly controllers: ConvergenceOptions['controllers'];
  readonly runnables: ConvergenceOptions['runnables'];
  readonly models: readonly ModelDescriptor[];
  readonly clock: FakeClock;
  readonly random: () => number;
  readonly uuid: () => string;
  readonly plan: FaultPlan;
  /** Maps the API version and kind, in the text that {@link kindIn} returns, to the history of this kind. */
  readonly histories: ReadonlyMap<string, KindHistory>;
}

/** One simulated process, from its start to its end, and the faults that are injected into it. */
interface Life {
  process: ControllerProcess | undefined;
  /** True when another process has become the leader, and this process does not know that. */
  isDeposed: boolean;
  /** While the process runs, the restart that started it. After a fault has ended the process, the next restart. */
  restart: Restart;
  /** For each kind whose cache lags and has not listed yet: the number of changes that its first list misses. */
  readonly behind: Map<string, number>;
}

type Change = Exclude<WatchEvent, { readonly type: 'BOOKMARK' | 'ERROR' }>;

/** The time within which every failure outside of runs is retried. No source waits longer before it starts again. */
const recoveryMs = 30_000;

/** Runs the controllers in a simulated process, and injects the faults of a plan. */
export class FaultDriver {
  /** A description of each injected fault, in order. */
  readonly faults: string[] = [];
  readonly #parts: DriverParts;
  readonly #stopping: Promise<void>[] = [];
  /** The objects whose next event is delivered twice. */
  readonly #repeated = new Set<string>();
  /** The kinds whose watch a fault has ended. The next watch of such a kind gets 410 instead of its first change. */
  readonly #expiring = new Set<string>();
  #life: Life | undefined;
  #isStopped = false;
  readonly #writes: ClientRequest['verb'][] = [];
  #reads = 0;
  #events = 0;
  #recoveredMs = 0;
  #problem: string | undefined;

  constructor(parts: DriverParts) {
    this.#parts = parts;
  }

  /** The writes of the controllers so far, the number of their reads, and the number of events sent to caches. */
  get extent(): Omit<RunExtent, 'calls'> {
    return { writes: this.#writes, reads: this.#reads, events: this.#events };
  }

  /**
   * True when a source, a mapping or a runnable has failed so recently, because of a fault, that it may not have
   * retried yet.
   */
  get isRecovering(): boolean {
    return this.#parts.clock.monotonicMs() < this.#recoveredMs;
  }

  /**
   * Throws when a run of a controller did not await a request. The check then fails, even if the final state is right.
   */
  check(): void {
    if (this.#problem !== undefined) throw new Error(this.#problem);
  }

  /** The running process; undefined while there is none. */
  get process(): ControllerProcess | undefined {
    return this.#life?.process;
  }

  start(restart: Restart = atOnce): void {
    if (this.#isStopped) return;
    const { client, controllers, runnables, clock, random, uuid } = this.#parts;
    const life: Life = { process: undefined, isDeposed: false, restart, behind: this.#kindsBehind(restart) };
    this.#life = life;
    life.process = new ControllerProcess({
      client,
      controllers: typeof controllers === 'function' ? controllers() : controllers,
      runnables,
      clock,
      random,
      uuid,
      source: this.#sourceFor(life),
      wrap: (handler) => this.#repeating(handler),
      onProblem: (problem) => (this.#problem ??= problem),
    });
  }

  /**
   * Stops the simulated process, and starts no other one. Resolves when this process and all earlier ones have stopped.
   * Until then, the caller must advance the clock.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#life !== undefined) this.#leave(this.#life);
    await Promise.all(this.#stopping);
  }

  #kindsBehind({ changesBehind, behindBits }: Restart): Map<string, number> {
    if (changesBehind === 0) return new Map();
    const lagging = this.#parts.models.filter((_, index) => ((behindBits >> index) & 1) === 1);
    return new Map(lagging.map((model) => [kindIn({ ...model, apiVersion: apiVersionOf(model) }), changesBehind]));
  }

  #sourceFor(life: Life): FaultSource {
    return {
      faultOf: (request) => this.#faultOf(life, request),
      endBefore: (request, event) => this.#endBefore(life, request, event),
      answerOf: (request) => this.#pastList(life, request),
      onCrash: () => this.#comeBack(life),
    };
  }

  #faultOf(life: Life, request: ClientRequest): ClientFault | undefined {
    if (request.isForCache || isOfRecorder(request)) return undefined;
    if (!request.isWrite) return this.#faultOfRead(life, request);
    if (life.isDeposed) return { kind: 'refuse', error: formerLeader(request) };
    this.#writes.push(request.verb);
    const fault = this.#parts.plan.atWrite.get(this.#writes.length);
    return fault === undefined ? undefined : this.#befallWrite(fault, life, request);
  }

  #faultOfRead(life: Life, request: ClientRequest): ClientFault | undefined {
    this.#reads += 1;
    const fault = this.#parts.plan.atRead.get(this.#reads);
    return fault === undefined ? undefined : this.#failRequest(fault, life, request);
  }

  #befallWrite(fault: WriteFault, life: Life, request: ClientRequest): ClientFault {
    const write = `write ${this.#writes.length}, ${describeRequest(request)}`;
    switch (fault.kind) {
      case 'crash':
        this.#note(`crash ${fault.carriedOut ? 'after' : 'before'} ${write}`, fault.restart);
        life.restart = fault.restart;
        return fault;
      case 'leaderChange':
        this.#note(`another leader before ${write}`, fault.restart);
        life.isDeposed = true;
        life.restart = fault.restart;
        this.#comeBack(life);
        return { kind: 'refuse', error: formerLeader(request) };
      case 'conflict':
      case 'refuse':
      case 'loseAnswer':
        return this.#failRequest(fault, life, request);
    }
  }

  #failRequest(fault: RequestFault, life: Life, request: ClientRequest): ClientFault {
    const { lateMs, behindMs } = fault;
    const { clock } = this.#parts;
    // A server refuses no create with the reason Conflict, so for a create, `refuse` replaces the fault `conflict`.
    const kind = request.verb === 'create' && fault.kind === 'conflict' ? 'refuse' : fault.kind;
    const place = request.isWrite ? `write ${this.#writes.length}` : `read ${this.#reads}`;
    const late = lateMs === 0 ? '' : `, known ${lateMs} ms later`;
    const behind = behindMs === 0 ? '' : `; events of ${request.kind} held back for ${behindMs} ms`;
    this.faults.push(`${failureWords[kind]} ${place}, ${describeRequest(request)}${late}${behind}`);
    if (behindMs > 0) this.#hold(life, request, behindMs);
    if (request.reconcileID === undefined) this.#recoveredMs = clock.monotonicMs() + lateMs + recoveryMs;
    if (lateMs === 0) return { kind };
    return { kind, until: new Promise<void>((resolve) => clock.setTimeout(resolve, lateMs)) };
  }

  #endBefore(life: Life, request: ClientRequest, event: WatchEvent): WatchEnd | undefined {
    if (life !== this.#life || event.type === 'BOOKMARK' || event.type === 'ERROR') return undefined;
    if (this.#expiring.delete(kindIn(request))) return 'expire';
    this.#events += 1;
    const fault = this.#parts.plan.atEvent.get(this.#events);
    return fault === undefined ? undefined : this.#befallEvent(fault, { life, request, event });
  }

  #befallEvent(
    fault: EventFault,
    { life, request, event }: { readonly life: Life; readonly request: ClientRequest; readonly event: Change },
  ): WatchEnd | undefined {
    const { kind } = event.object;
    const described = `event ${this.#events}, ${event.type} ${labelOf(event.object)}`;
    switch (fault.kind) {
      case 'crash':
        this.#note(`crash before ${described}`, fault.restart);
        life.restart = fault.restart;
        life.process?.requests.crash();
        return undefined;
      case 'dropWatch':
        this.#note(`watch of ${kind} dropped before ${described}`);
        return 'drop';
      case 'expireWatch':
        this.#note(`watch of ${kind} dropped before ${described}; its next watch gets 410`);
        this.#expiring.add(kindIn(request));
        return 'drop';
      case 'repeat':
        this.#note(`${described} delivered twice`);
        this.#repeated.add(labelOf(event.object));
        return undefined;
      case 'hold':
        this.#note(`events of ${kind} held back for ${fault.forMs} ms, beginning with ${described}`);
        this.#hold(life, request, fault.forMs);
        return undefined;
    }
  }

  #hold({ process }: Life, request: ClientRequest, forMs: number): void {
    const release = process?.requests.holdEvents((other) => kindIn(other) === kindIn(request));
    if (release !== undefined) this.#parts.clock.setTimeout(release, forMs);
  }

  /**
   * Makes the cache of a kind lag, if `behindBits` of the restart selects this kind: returns an earlier list as the
   * response to the cache's first list request, and holds back the events of the kind for `behindMs`. Returns undefined
   * for any other request.
   */
  #pastList(life: Life, request: ClientRequest): object | undefined {
    if (request.verb !== 'list' || !request.isForCache) return undefined;
    const kind = kindIn(request);
    const changes = life.behind.get(kind);
    life.behind.delete(kind);
    if (changes === undefined) return undefined;
    this.#hold(life, request, life.restart.behindMs);
    return this.#parts.histories.get(kind)?.before(changes);
  }

  #comeBack(life: Life): void {
    if (life !== this.#life) return;
    this.#leave(life);
    const { restart } = life;
    if (restart.afterMs === 0) this.start(restart);
    else this.#parts.clock.setTimeout(() => this.start(restart), restart.afterMs);
  }

  #leave(life: Life): void {
    this.#life = undefined;
    if (life.process !== undefined) this.#stopping.push(life.process.stop());
  }

  #repeating(handler: InformerHandler<ApiObject>): InformerHandler<ApiObject> {
    const repeat = (object: ApiObject): void => {
      if (this.#repeated.delete(labelOf(object))) handler.onUpdate?.(object, object);
    };
    return {
      onAdd: (object, info) => {
        handler.onAdd?.(object, info);
        repeat(object);
      },
      onUpdate: (previous, object) => {
        handler.onUpdate?.(previous, object);
        repeat(object);
      },
      onDelete: (object) => handler.onDelete?.(object),
    };
  }

  #note(fault: string, restart?: Restart): void {
    const { afterMs = 0, changesBehind = 0, behindMs = 0 } = restart ?? {};
    const back = afterMs === 0 ? '' : `; no controller running for ${afterMs} ms`;
    const behind = changesBehind === 0 ? '' : `; caches ${changesBehind} changes behind for ${behindMs} ms`;
    this.faults.push(`${fault}${back}${behind}`);
  }
}

const failureWords = {
  conflict: 'a conflict at',
  refuse: 'no connection at',
  loseAnswer: 'a lost response to',
} as const satisfies Record<RequestFault['kind'], string>;

/**
 * True for a write of the event recorder. The recorder writes Event objects outside of runs, and retries failed writes
 * itself.
 */
function isOfRecorder({ kind, apiVersion, reconcileID, isWrite }: ClientRequest): boolean {
  return isWrite && kind === 'Event' && apiVersion === 'v1' && reconcileID === undefined;
}

/** Returns a text that identifies the kind of a request or a model. */
export function kindIn({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): string {
  return `${apiVersion} ${kind}`;
}

function labelOf(object: ApiObject): string {
  return `${object.kind} ${formatKey(keyOf(object))}`;
}

function formerLeader(request: ClientRequest): ApiError {
  const message = `${describeRequest(request)}: another process leads (injected)`;
  return new ApiError('Conflict', message, { causes: [{ reason: 'FormerLeader', message }] });
}
