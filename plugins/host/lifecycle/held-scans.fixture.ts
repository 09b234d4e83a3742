import type { Worker } from 'node:worker_threads';

interface ScanCall {
  readonly type: 'scan';
  readonly request: { readonly kind: number; readonly after: string };
}

/**
 * Stands between the stores that are opened from now on and their threads, and can hold back the pages of a scan,
 * like a slow disk. Everything else passes.
 */
export class HeldScans {
  readonly #held: (() => void)[] = [];
  #isHeld: ((scan: ScanCall['request']) => boolean) | undefined;
  #lastKind = 0;

  constructor() {
    process.on('worker', this.#onWorker);
  }

  /** The last scanned kind, by the store's number. */
  get lastKind(): number {
    return this.#lastKind;
  }

  /** Pages that wait. */
  get waiting(): number {
    return this.#held.length;
  }

  hold(isHeld: (scan: ScanCall['request']) => boolean): void {
    this.#isHeld = isHeld;
  }

  release(): void {
    this.#isHeld = undefined;
    for (const post of this.#held.splice(0)) post();
  }

  /** Lets everything pass, for ever. */
  dispose(): void {
    process.off('worker', this.#onWorker);
    this.release();
  }

  readonly #onWorker = (worker: Worker): void => {
    const post = worker.postMessage.bind(worker);
    worker.postMessage = (message: unknown, ...rest: unknown[]): void => {
      const send = (): void => Reflect.apply(post, worker, [message, ...rest]);
      if (this.#holds(message)) this.#held.push(send);
      else send();
    };
  };

  #holds(message: unknown): boolean {
    const { type, request } = message as ScanCall;
    if (type !== 'scan') return false;
    this.#lastKind = request.kind;
    return this.#isHeld?.(request) === true;
  }
}
