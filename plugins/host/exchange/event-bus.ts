import { EventEmitter } from 'eventemitter3';
import type { Logger } from '@homeostat/controller-runtime/api';
import type { PluginEvents, SharedEvent } from '../sdk/plugin-events.ts';
import { contained } from './plugin-listeners.ts';
import { parseSharedName } from '../text/shared-name.ts';

type Emitter = EventEmitter<Record<string, (payload: never) => void>>;

/** Passes events between plugins while they run. */
export class EventBus {
  // Only listeners that cannot throw are added, because after an error the emitter would not call the later listeners.
  readonly #emitter: Emitter = new EventEmitter();

  /** Returns the interface by which a plugin emits events and listens to them; `logger` is the plugin's logger. */
  forPlugin(logger: Logger): OwnedEvents {
    return new OwnedEvents(this.#emitter, logger);
  }
}

/** Emits events and adds listeners for one plugin, from a start of the plugin until its next stop. */
export class OwnedEvents {
  readonly #emitter: Emitter;
  readonly #logger: Logger;
  readonly #endings = new Set<() => void>();
  #isClosed = false;

  constructor(emitter: Emitter, logger: Logger) {
    this.#emitter = emitter;
    this.#logger = logger;
  }

  /** Returns the interface that the plugin receives. */
  events(): PluginEvents {
    return Object.freeze<PluginEvents>({
      emit: ({ name }, payload) => this.#emit(name, payload),
      on: (event, listener) => this.#on(event, listener),
    });
  }

  /** Removes the listeners of the plugin, and drops every event that it emits from now on. */
  close(): void {
    this.#isClosed = true;
    for (const end of this.#endings) end();
  }

  #emit(name: string, payload: unknown): void {
    if (!this.#isClosed) this.#emitter.emit(name, payload);
    else this.#logger.warn({ event: name }, 'ignored an event that a stopped plugin emitted');
  }

  #on<T>({ name }: SharedEvent<T>, listener: (payload: T) => unknown): () => void {
    if (this.#isClosed) throw new Error('the plugin is being stopped');
    parseSharedName('an event', name);
    const fields = { event: name };
    const call = contained(listener, { logger: this.#logger, message: 'a listener of a plugin failed', fields });
    // While it emits an event, the emitter also calls listeners that were removed meanwhile; they are skipped here.
    const own = (payload: T): void => (this.#endings.has(end) ? call(payload) : undefined);
    const end = (): void => {
      this.#endings.delete(end);
      this.#emitter.off(name, own);
    };
    this.#endings.add(end);
    this.#emitter.on(name, own);
    return end;
  }
}
