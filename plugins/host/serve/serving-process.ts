import type { Clock } from '@homeostat/controller-runtime/api';
import { mergeMetrics } from './merge-metrics.ts';
import { processVariable } from './process-messages.ts';
import type { FromServing, ToServing } from './process-messages.ts';

/** The time limit for the message with the metrics of the other processes. A later message is ignored. */
const gatherMs = 3000;

export interface ServingProcessParts {
  /** The number of the process; numbers start at 1. */
  readonly number: number;
  readonly clock: Clock;
  readonly send: (message: FromServing) => void;
}

/** The connection of a serving process to the primary process, when several processes serve requests at one port. */
export class ServingProcess {
  readonly number: number;
  readonly #parts: ServingProcessParts;
  #isStopping = false;
  #stop: () => void = () => {};
  readonly #gathering = new Map<number, (texts: readonly (readonly [number, string])[]) => void>();
  #gathered: Promise<string> | undefined;
  #measure: (() => string) | undefined;
  #lastId = 0;

  constructor(parts: ServingProcessParts) {
    this.number = parts.number;
    this.#parts = parts;
  }

  /** Sets the function that is called when this process must stop. */
  onStop(stop: () => void): void {
    if (this.#isStopping) stop();
    this.#stop = stop;
  }

  readonly onMessage = (message: ToServing): void => {
    switch (message.type) {
      case 'stop':
        this.#isStopping = true;
        return this.#stop();
      case 'measure':
        return this.#parts.send({ type: 'metrics', id: message.id, text: this.#measure?.() ?? '' });
      case 'measured':
        return this.#gathering.get(message.id)?.(message.texts);
    }
  };

  /** Sets the function that returns the metrics of this process. It is called when another process gathers metrics. */
  measures(measure: () => string): void {
    this.#measure = measure;
  }

  ready(): void {
    this.#parts.send({ type: 'ready' });
  }

  fail(): void {
    this.#parts.send({ type: 'fail' });
  }

  /**
   * Returns the metrics of all processes; `own` are those of this process. Calls that come before the result is ready
   * get the same result.
   */
  readonly gather = (own: string): Promise<string> =>
    (this.#gathered ??= this.#gather(own).finally(() => (this.#gathered = undefined)));

  async #gather(own: string): Promise<string> {
    const { clock, send } = this.#parts;
    this.#lastId += 1;
    const id = this.#lastId;
    const others = await new Promise<readonly (readonly [number, string])[]>((resolve) => {
      const late = clock.setTimeout(() => resolve([]), gatherMs);
      this.#gathering.set(id, (texts) => {
        clock.clearTimeout(late);
        resolve(texts);
      });
      send({ type: 'gather', id });
    });
    this.#gathering.delete(id);
    const all: readonly (readonly [number, string])[] = [[this.number, own], ...others];
    return mergeMetrics(all.toSorted(([a], [b]) => a - b));
  }
}

/** Connects this process to the primary process; undefined when this process serves alone. */
export function servingProcess(clock: Clock): ServingProcess | undefined {
  const number = process.env[processVariable];
  if (number === undefined || process.send === undefined) return undefined;
  // The variable is removed, so that a program that a plugin starts does not inherit it.
  delete process.env[processVariable];
  const send = (message: FromServing): void => {
    if (process.connected) process.send?.(message);
  };
  const serving = new ServingProcess({ number: Number(number), clock, send });
  process.on('message', serving.onMessage);
  return serving;
}
