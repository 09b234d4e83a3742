import { EventEmitter } from 'eventemitter3';
import type { Logger } from '@homeostat/controller-runtime/api';
import { contained } from './contained.ts';
import type { SharedEvent, PluginEvents } from './plugin-events.ts';
import { parseSharedName } from './shared-name.ts';

type Listener = (payload: unknown) => void;

/** The events of one plugin. */
export interface OwnedEvents {
  readonly events: PluginEvents;
  /** Takes its listeners away; it emits nothing any more. */
  close(): void;
}

/** What plugins tell each other while they run. */
export class EventBus {
  // Only listeners that cannot throw get in: one that does would keep the event from those behind it.
  readonly #emitter = new EventEmitter<Record<string, Listener>>();

  /** What a plugin emits and listens with; `logger` is its own. */
  forPlugin(logger: Logger): OwnedEvents {
    const endings = new Set<() => void>();
    let isClosed = false;
    const emit = (name: string, payload: unknown): void => {
      if (isClosed) logger.warn({ event: name }, 'a plugin that has stopped emits an event: nobody hears of it');
      else this.#emitter.emit(name, payload);
    };
    const on = (name: string, listener: (payload: never) => unknown): (() => void) => {
      if (isClosed) throw new Error('the plugin is being stopped');
      const end = this.#listen(name, containedListener(name, listener, logger));
      endings.add(end);
      return () => {
        end();
        endings.delete(end);
      };
    };
    const close = (): void => {
      isClosed = true;
      for (const end of endings) end();
      endings.clear();
    };
    const events: PluginEvents = {
      emit: (event, payload) => emit(event.name, payload),
      on: (event, listener) => on(checkedName(event), listener),
    };
    return { events: Object.freeze(events), close };
  }

  #listen(name: string, listener: Listener): () => void {
    let isOver = false;
    // An event that is under way still has its listeners of before.
    const own: Listener = (payload) => (isOver ? undefined : listener(payload));
    this.#emitter.on(name, own);
    return () => {
      isOver = true;
      this.#emitter.off(name, own);
    };
  }
}

function containedListener(event: string, listener: (payload: never) => unknown, logger: Logger): Listener {
  const onError = (err: unknown): void => logger.error({ err, event }, 'a listener of a plugin failed');
  return (payload) => contained(() => listener(payload as never), onError);
}

function checkedName({ name }: SharedEvent<unknown>): string {
  parseSharedName('an event', name);
  return name;
}
