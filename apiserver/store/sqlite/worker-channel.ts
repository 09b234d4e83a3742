import { Worker } from 'node:worker_threads';

import type { AnswerMessage, SqliteCalls } from './sqlite-protocol.ts';
import { CompactedError } from '../store.ts';
import { StoreError } from '../store-error.ts';

interface Waiter {
  readonly resolve: (answer: never) => void;
  readonly reject: (error: Error) => void;
}

/** Sends calls to a worker thread. When the worker ends, all pending and later calls reject. */
export class WorkerChannel {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiter>();
  readonly #exited: Promise<void>;
  #nextId = 1;
  #ended: StoreError | undefined;

  constructor(entry: URL) {
    // On Node 22, node:sqlite warns that it is experimental. The warning is suppressed, because the contract suite
    // tests node:sqlite. The flags of the process are not passed on: a worker refuses flags of V8, such as
    // --max-old-space-size, and they apply to it anyway.
    this.#worker = new Worker(entry, { execArgv: ['--disable-warning=ExperimentalWarning'] });
    this.#worker.on('message', this.#settle);
    this.#worker.on('messageerror', (error) => this.#end(crashed(error)));
    this.#worker.on('error', (error) => this.#end(crashed(error)));
    this.#exited = new Promise((resolve) => {
      this.#worker.on('exit', (code) => {
        this.#end(new StoreError('crashed', `the store's worker thread ended with code ${code}`));
        resolve();
      });
    });
  }

  call<Type extends keyof SqliteCalls>(
    type: Type,
    request: SqliteCalls[Type]['request'],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<SqliteCalls[Type]['answer']> {
    if (this.#ended) return Promise.reject(this.#ended);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, type, request }, transfer);
    });
  }

  /** Resolves when the worker has ended. After the call `close`, the worker ends by itself. */
  async exited(): Promise<void> {
    await this.#exited;
  }

  /** Ends the worker immediately, even during a call. */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  readonly #settle = (message: AnswerMessage): void => {
    const waiter = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if ('answer' in message) waiter?.resolve(message.answer as never);
    else if ('compacted' in message) waiter?.reject(new CompactedError(message.compacted));
    else waiter?.reject(new StoreError(message.failure.code, message.failure.message));
  };

  #end(error: StoreError): void {
    this.#ended ??= error;
    for (const waiter of this.#waiting.values()) waiter.reject(this.#ended);
    this.#waiting.clear();
  }
}

function crashed(cause: unknown): StoreError {
  return new StoreError(
    'crashed',
    `the store's worker thread crashed: ${cause instanceof Error ? cause.message : String(cause)}`,
    {
      cause,
    },
  );
}
