import type { ApiObject, ModelDescriptor } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { EffectMemory } from '../effects/effect-memory.ts';
import { RunEffects } from '../effects/run-effects.ts';
import type { ObjectEvents, ReconcileContext, ReconcileRequest, StateCondition } from '../definition/reconciler.ts';
import type { OwnOptions, OwnResult, Wish } from '../definition/wish.ts';
import type { Once } from '../definition/external-effects.ts';
import type { CacheView } from './cache-view.ts';
import { ensureDependent } from './ensure-dependent.ts';
import { ownWishes } from './own-wishes.ts';
import type { RelatedObjects } from './related-objects.ts';
import { RunConditions } from './run-conditions.ts';
import { writeStatus } from './write-status.ts';

export interface RunVerbsParts {
  /** Returns the finished external effects that are kept in memory. The first call creates this memory. */
  readonly effects: () => EffectMemory;
  readonly client: Client;
  readonly view: CacheView;
  readonly related: RelatedObjects;
  readonly model: ModelDescriptor;
  /** The field manager of the fields that the run applies. */
  readonly manager: string;
  readonly object: ApiObject;
  readonly request: ReconcileRequest;
}

type Verbs = Omit<ReconcileContext, keyof ReconcileRequest>;

/** The functions in the context of one run that act on the run's object. */
export class RunVerbs {
  readonly #parts: RunVerbsParts;
  #conditions: RunConditions | undefined;
  #effects: RunEffects | undefined;
  #hasOwned = false;

  constructor(parts: RunVerbsParts) {
    this.#parts = parts;
  }

  /** Returns the functions, which can be called without `this`. */
  bound(): Verbs {
    const { client, view, related, object, request } = this.#parts;
    // The functions `onTransition`, `summary` and `last` are assigned as properties, because each Object.assign on a
    // function costs 130 ns in each run.
    const event: ObjectEvents = (type, reason, message) => request.recorder.event(object, type, reason, message);
    event.onTransition = (type, condition) => this.#stated().recordTransition(type, condition);
    const condition: StateCondition = (type, status, reason) => this.#stated().state(type, status, reason);
    condition.summary = (type, of) => this.#stated().summarise(type, of);
    const once: Once = (name, effect, options) => this.#recorded().once(name, effect, options) as Promise<never>;
    once.last = (name, options) => this.#recorded().last(name, options) as Promise<never>;
    return {
      object,
      event,
      condition,
      once,
      children: (model) => related.children(model, object),
      related: (model, index, value) => related.related(model, index, value),
      ensure: (model, key, desired) => ensureDependent({ client, view, owner: object }, { model, key }, desired),
      own: (wishes, options) => this.#own(wishes, options) as Promise<never>,
      status: (partial) => this.#writeStatus(partial),
    };
  }

  /** Writes the conditions that the run has set and not written yet, if there are any. */
  async writeConditions(): Promise<void> {
    if (this.#conditions?.isPending === true) await this.#writeStatus({});
  }

  /**
   * Makes the dependents equal to the wishes. Except with `dryRun`, it may be called only once in a run, because a
   * second list of wishes would delete the objects of the first list.
   */
  #own(wishes: readonly Wish[], options: OwnOptions | undefined): Promise<OwnResult> {
    if (this.#hasOwned && options?.dryRun !== true)
      return Promise.reject(new Error('own() was called twice in a run: pass all wishes in one list'));
    this.#hasOwned ||= options?.dryRun !== true;
    return ownWishes(this.#parts, wishes, options);
  }

  #writeStatus(partial: unknown): Promise<ApiObject> {
    return writeStatus({ ...this.#parts, conditions: this.#conditions }, partial);
  }

  #recorded(): RunEffects {
    const { client, effects, object: owner, request } = this.#parts;
    return (this.#effects ??= new RunEffects({ client, memory: effects(), owner, signal: request.signal }));
  }

  #stated(): RunConditions {
    const { model, object, request } = this.#parts;
    const { recorder } = request;
    return (this.#conditions ??= new RunConditions({ model, object, recorder, now: () => request.now }));
  }
}
