import { parseKey, type ApiObject, type Clock, type Logger } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import type { EventWriter } from '../events/event-recorder.ts';
import type { WorkItem } from '../queue/queue-entry.ts';
import type { CacheView } from './cache-view.ts';
import type { ControllerDefinition } from './controller-definition.ts';
import { ensureDependent } from './ensure-dependent.ts';
import { writeFinalizers } from './finalizer-writes.ts';
import { addFinalizer, removeFinalizer } from './finalizers.ts';
import { kindIdOf } from './kind-id.ts';
import { outcomeOfError, outcomeOfResult, type Outcome } from './outcome.ts';
import type { OwnRevisions } from './own-revisions.ts';
import type { ReconcileContext, ReconcileRequest, ReconcileResult } from './reconciler.ts';
import { RunClient } from './run-client.ts';
import { writeStatus } from './write-status.ts';

export interface RunParts {
  readonly definition: ControllerDefinition;
  readonly client: Client;
  readonly clock: Clock;
  readonly view: CacheView;
  readonly statusWrites: OwnRevisions;
  readonly finalizerWrites: OwnRevisions;
  readonly events: Pick<EventWriter, 'ofRun'>;
}

export interface RunOptions {
  readonly item: WorkItem;
  readonly reconcileID: string;
  /** Knows the run already. */
  readonly logger: Logger;
  /** Aborted by the timeout, or by whoever holds it. */
  readonly abort: AbortController;
}

/** One run of one key, from reading the object to the outcome. */
export class ReconcileRun {
  readonly #parts: RunParts;
  readonly #options: RunOptions;
  readonly #client: RunClient;

  constructor(parts: RunParts, options: RunOptions) {
    this.#parts = parts;
    this.#options = options;
    const { client, view, statusWrites } = parts;
    this.#client = new RunClient({ client, signal: options.abort.signal, view, statusWrites });
  }

  /**
   * Never rejects. A run that outlasts its timeout is told by its signal, and is waited for nonetheless: to give its
   * key to another run before it has ended would be two runs at once.
   */
  async run(): Promise<Outcome> {
    const { clock, definition } = this.#parts;
    const { timeoutMs } = definition;
    const { abort } = this.#options;
    let timeout: Error | undefined;
    const timer = clock.setTimeout(() => {
      timeout = new Error(`the run outlasted its timeout of ${timeoutMs} ms`);
      abort.abort(timeout);
    }, timeoutMs);
    // A run that is abandoned leaves no timer behind.
    abort.signal.addEventListener('abort', () => clock.clearTimeout(timer), { once: true });
    try {
      const outcome = outcomeOfResult(await this.#reconcile());
      return timeout === undefined ? outcome : { kind: 'timeout', error: timeout };
    } catch (error) {
      if (timeout !== undefined) return { kind: 'timeout', error: timeout };
      return outcomeOfError(error, this.#client.conflictSource(error));
    } finally {
      clock.clearTimeout(timer);
    }
  }

  async #reconcile(): Promise<ReconcileResult> {
    const { definition, view } = this.#parts;
    const { reconcile } = definition;
    const request = this.#request();
    if (typeof reconcile !== 'function') return reconcile.reconcile(request);
    const object = view.read({ kindId: kindIdOf(definition.model), key: request.key });
    if (object === undefined) return undefined;
    if (object.metadata.deletionTimestamp !== undefined) return this.#cleanUp(request, object);
    const prepared = await this.#prepare(object);
    return prepared === undefined ? undefined : reconcile(this.#context(request, prepared));
  }

  /** The finalizer is stored before the first reconcile; one that no cleanup stands behind any more is taken off. */
  #prepare(object: ApiObject): Promise<ApiObject | undefined> {
    const { cleanup, finalizer } = this.#parts.definition;
    return this.#writeFinalizers(object, (present) =>
      cleanup === undefined ? removeFinalizer(present, finalizer) : addFinalizer(present, finalizer),
    );
  }

  /** Without our finalizer the object is none of our business any more. */
  async #cleanUp(request: ReconcileRequest, object: ApiObject): Promise<ReconcileResult> {
    const { cleanup, finalizer } = this.#parts.definition;
    if (object.metadata.finalizers?.includes(finalizer) !== true) return undefined;
    const result = await cleanup?.(this.#context(request, object));
    if (outcomeOfResult(result).kind !== 'success') return result;
    // A run that was told to end must not report a cleanup that may have been cut short.
    this.#options.abort.signal.throwIfAborted();
    await this.#writeFinalizers(this.#parts.view.newest(object), (present) => removeFinalizer(present, finalizer));
    return undefined;
  }

  #writeFinalizers(object: ApiObject, change: Parameters<typeof writeFinalizers>[2]): Promise<ApiObject | undefined> {
    const { definition, finalizerWrites } = this.#parts;
    return writeFinalizers({ client: this.#client, model: definition.model, finalizerWrites }, object, change);
  }

  #request(): ReconcileRequest {
    const { item, logger, reconcileID, abort } = this.#options;
    const key = parseKey(item.key);
    const recorder = this.#parts.events.ofRun(reconcileID);
    const { reasons } = item;
    return { ...key, key, client: this.#client, signal: abort.signal, reasons, logger, recorder, reconcileID };
  }

  #context(request: ReconcileRequest, object: ApiObject): ReconcileContext {
    const { definition, view } = this.#parts;
    const client = this.#client;
    return {
      ...request,
      object,
      event: (type, reason, message) => request.recorder.event(object, type, reason, message),
      ensure: (model, key, desired) => ensureDependent({ client, view, owner: object }, { model, key }, desired),
      status: (partial) => writeStatus({ client, view, model: definition.model, object }, partial),
    };
  }
}
