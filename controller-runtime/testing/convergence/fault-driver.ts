import { ApiError, apiVersionOf, formatKey, keyOf } from '../../api/index.ts';
import type { ApiObject, ModelDescriptor, WatchEvent } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { InformerHandler } from '../../client/informer.ts';
import type { FakeClock } from '../fake-clock.ts';
import type { ClientFault, FaultSource } from '../faulty-requests.ts';
import type { WatchEnd } from '../faulty-watch.ts';
import { describeRequest } from '../intercepted-client.ts';
import type { ClientRequest } from '../intercepted-client.ts';
import { ControllerProcess } from './controller-process.ts';
import type { ConvergenceOptions } from './convergence-options.ts';
import type { EventFault, FaultPlan, Restart, WriteFault } from './fault-plan.ts';
import type { KindHistory } from './kind-history.ts';

export interface DriverParts {
  /** Meets no faults. */
  readonly client: Client;
  readonly controllers: ConvergenceOptions['controllers'];
  readonly models: readonly ModelDescriptor[];
  readonly clock: FakeClock;
  readonly random: () => number;
  readonly uuid: () => string;
  readonly plan: FaultPlan;
  /** By {@link kindIn}. */
  readonly histories: ReadonlyMap<string, KindHistory>;
}

/** One process, and what is to become of it. */
interface Life {
  process: ControllerProcess | undefined;
  /** Another is at work in its place, which it does not know. */
  isDeposed: boolean;
  /** How it comes back when it has crashed. */
  restart: Restart;
  /** By kind: how many changes its cache is to begin behind. */
  readonly behind: Map<string, number>;
}

type Change = Exclude<WatchEvent, { readonly type: 'BOOKMARK' | 'ERROR' }>;

const upToDate: Restart = Object.freeze({ afterMs: 0, changesBehind: 0, behindMs: 0 });

/** Keeps the controllers in a process, and lets the faults of a plan befall it. */
export class FaultDriver {
  /** What happened, for people. */
  readonly faults: string[] = [];
  readonly #parts: DriverParts;
  readonly #stopping: Promise<void>[] = [];
  /** Objects whose next event is told twice. */
  readonly #repeated = new Set<string>();
  /** Kinds whose watch was dropped, and is told 410 when it comes back. */
  readonly #expiring = new Set<string>();
  #life: Life | undefined;
  #isStopped = false;
  #writes = 0;
  #events = 0;

  constructor(parts: DriverParts) {
    this.#parts = parts;
  }

  /** Of reconcilers, so far. */
  get writes(): number {
    return this.#writes;
  }

  /** On their way to caches, so far. */
  get events(): number {
    return this.#events;
  }

  /** Undefined while nobody is at work. */
  get process(): ControllerProcess | undefined {
    return this.#life?.process;
  }

  start(restart: Restart = upToDate): void {
    if (this.#isStopped) return;
    const { client, controllers, clock, random, uuid } = this.#parts;
    const life: Life = { process: undefined, isDeposed: false, restart, behind: this.#kindsBehind(restart) };
    this.#life = life;
    life.process = new ControllerProcess({
      client,
      controllers: typeof controllers === 'function' ? controllers() : controllers,
      clock,
      random,
      uuid,
      source: this.#sourceFor(life),
      wrap: (handler) => this.#repeating(handler),
    });
  }

  /** Resolves when nothing runs any more; that takes time of the clock. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#life !== undefined) this.#leave(this.#life);
    await Promise.all(this.#stopping);
  }

  #kindsBehind({ changesBehind }: Restart): Map<string, number> {
    if (changesBehind === 0) return new Map();
    // Caches lag independently of each other: some of them do.
    const lagging = this.#parts.models.filter(() => this.#parts.random() < 0.5);
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
    if (!request.isWrite || request.reconcileID === undefined) return undefined;
    if (life.isDeposed) return { kind: 'refuse', error: formerLeader(request) };
    this.#writes += 1;
    const fault = this.#parts.plan.atWrite.get(this.#writes);
    return fault === undefined ? undefined : this.#befallWrite(fault, life, request);
  }

  #befallWrite(fault: WriteFault, life: Life, request: ClientRequest): ClientFault {
    const write = `write ${this.#writes}, ${describeRequest(request)}`;
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
      case 'loseAnswer':
        this.#note(`the answer lost of ${write}`);
        return { kind: 'loseAnswer' };
      case 'conflict':
      case 'refuse': {
        // A create never conflicts.
        const kind = request.verb === 'create' ? 'refuse' : fault.kind;
        this.#note(`${kind === 'conflict' ? 'a conflict' : 'no connection'} at ${write}`);
        return { kind };
      }
    }
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
        this.#note(`watch of ${kind} dropped before ${described}, and 410 after that`);
        this.#expiring.add(kindIn(request));
        return 'drop';
      case 'repeat':
        this.#note(`${described} told twice`);
        this.#repeated.add(labelOf(event.object));
        return undefined;
      case 'hold':
        this.#note(`events of ${kind} held back for ${fault.forMs} ms from ${described}`);
        this.#hold(life, request, fault.forMs);
        return undefined;
    }
  }

  #hold({ process }: Life, request: ClientRequest, forMs: number): void {
    const release = process?.requests.holdEvents((other) => kindIn(other) === kindIn(request));
    if (release !== undefined) this.#parts.clock.setTimeout(release, forMs);
  }

  /** The first list of a cache that is to lag; nothing later reaches it for a while. */
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
    const back = afterMs === 0 ? '' : `; nobody at work for ${afterMs} ms`;
    const behind = changesBehind === 0 ? '' : `; caches ${changesBehind} changes behind for ${behindMs} ms`;
    this.faults.push(`${fault}${back}${behind}`);
  }
}

/** Which kind a request, or a model, is about. */
export function kindIn({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): string {
  return `${apiVersion} ${kind}`;
}

function labelOf(object: ApiObject): string {
  return `${object.kind} ${formatKey(keyOf(object))}`;
}

function formerLeader(request: ClientRequest): ApiError {
  const message = `${describeRequest(request)}: another leader is at work (injected)`;
  return new ApiError('Conflict', message, { causes: [{ reason: 'FormerLeader', message }] });
}
