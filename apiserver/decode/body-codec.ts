import { Worker } from 'node:worker_threads';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { Clock, FieldCause, StatusReason, Timer } from '@homeostat/controller-runtime/api';
import { BodyMemory } from './body-memory.ts';
import { decodeBody, textOf } from './decode-body.ts';
import type { BodyFormat } from './decode-body.ts';
import { formatYaml } from './format-yaml.ts';
import type { YamlPart } from './format-yaml.ts';

/** Returns the value of a body, a new copy at each call. */
export interface BodySource {
  (): unknown;
  /** True when it takes milliseconds to read the body. The request is then handled in steps. */
  readonly isLarge?: boolean;
}

/** A request to the worker thread: to decode bytes, or to write JSON as YAML. */
export type WorkerRequest =
  { readonly bytes: Uint8Array; readonly format: BodyFormat } | { readonly bytes: Uint8Array; readonly yaml: YamlPart };

/**
 * The worker's response. If the request was to decode a body, `text` is the body as JSON, or undefined when the body
 * already is JSON. If the request was to write JSON as YAML, `text` is the YAML. `refusal` is the error of a body that
 * is refused.
 */
export type WorkerAnswer =
  | { readonly text: Uint8Array | undefined }
  | {
      readonly refusal: {
        readonly reason: StatusReason;
        readonly message: string;
        readonly causes: readonly FieldCause[];
      };
    };

/** The number of bytes above which a body counts as large. */
export const largeBody: number = 64 * 1024;

/** The largest JSON that is parsed on the event loop, which takes up to 10 ms. The worker parses larger bodies. */
const maxJsonHere = 256 * 1024;

/**
 * The largest YAML or protobuf that is parsed on the event loop. YAML of 16 KB takes 30 ms in the first requests,
 * before V8 has compiled the YAML parser.
 */
const maxOtherHere = 16 * 1024;

/** The largest JSON that is written as YAML on the event loop, which takes up to 5 ms. */
const maxYamlHere = 16 * 1024;

/** The maximum heap of the worker, in MB. YAML of 3 MiB takes up to 400 MB. */
const defaultHeapMb = 768;

/** The time after which an idle worker thread is ended, to release its memory. */
const idleMs = 10_000;

/**
 * The state of the response to a request. Once the response is closed, the request's body is dropped if it still waits
 * for the worker.
 */
export interface ResponseState {
  readonly closed: boolean;
  on(event: 'close', listener: () => void): unknown;
  off(event: 'close', listener: () => void): unknown;
}

interface Job {
  readonly request: WorkerRequest;
  readonly resolve: (answer: WorkerAnswer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Decodes bodies, and writes YAML. A worker thread decodes large bodies and writes large YAML, one at a time, so that
 * they do not block the event loop. The worker starts when it is first needed.
 */
export class BodyCodec {
  /** Counts the memory of request bodies. The code that reads a body reports its bytes here. */
  readonly memory: BodyMemory = new BodyMemory();
  readonly #clock: Clock;
  readonly #maxHeapMb: number;
  readonly #waiting = new Set<Job>();
  readonly #ending = new Set<Promise<unknown>>();
  #worker: Worker | undefined;
  #current: Job | undefined;
  /** The worker thread that executes the current job. */
  #currentWorker: Worker | undefined;
  #idle: Timer | undefined;
  #isClosed = false;

  constructor(clock: Clock, { maxHeapMb = defaultHeapMb }: { readonly maxHeapMb?: number } = {}) {
    this.#clock = clock;
    this.#maxHeapMb = maxHeapMb;
  }

  /**
   * Decodes a body within the limits of objects. `reader` is the response that waits for the body. For a body that the
   * worker decodes, returns a promise, which also rejects when the reader disconnects before the worker begins. Any
   * other body is decoded only when the returned source is called, so the source throws the errors.
   * @throws ApiError BadRequest or RequestEntityTooLarge; ServiceUnavailable when the worker is needed and cannot run
   */
  decode(bytes: Buffer, format: BodyFormat, reader?: ResponseState): BodySource | Promise<BodySource> {
    if (bytes.length > (format === 'json' ? maxJsonHere : maxOtherHere))
      return this.#decodeByWorker(bytes, format, reader);
    const read = (): unknown => decodeBody(bytes, format);
    return bytes.length <= largeBody ? read : Object.assign(read, { isLarge: true });
  }

  async #decodeByWorker(bytes: Buffer, format: BodyFormat, reader: ResponseState | undefined): Promise<BodySource> {
    const answer = await this.#askFor(reader, { bytes, format });
    if ('refusal' in answer) {
      const { reason, message, causes } = answer.refusal;
      throw new ApiError(reason, message, { causes });
    }
    const text = textOf(answer.text === undefined ? bytes : Buffer.from(answer.text.buffer));
    const read = (): unknown => JSON.parse(text);
    return Object.assign(read, { isLarge: true });
  }

  /**
   * Writes JSON as YAML, synchronously when the JSON is short. For the part `items`, the JSON must be a list that is
   * not empty.
   */
  toYaml(json: Buffer, part: YamlPart): Buffer | Promise<Buffer> {
    if (json.length <= maxYamlHere) return Buffer.from(formatYaml(json.toString('utf8'), part));
    return this.#ask({ bytes: json, yaml: part }).then((answer) => {
      if (!('text' in answer) || answer.text === undefined) throw new Error('the worker thread returned no YAML');
      return Buffer.from(answer.text.buffer);
    });
  }

  /** Ends the worker. Bodies that need the worker, now or later, are refused (503). */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#clock.clearTimeout(this.#idle);
    for (const job of this.#waiting) job.reject(closed());
    this.#waiting.clear();
    this.#endWorker();
    await Promise.all(this.#ending);
  }

  #ask(request: WorkerRequest): Promise<WorkerAnswer> {
    if (this.#isClosed) return Promise.reject(closed());
    return new Promise((resolve, reject) => {
      this.#waiting.add({ request, resolve, reject });
      this.#next();
    });
  }

  /**
   * Sends a job to the worker thread for the response to a client, `reader`. If the client disconnects while the job
   * waits, the job and its bytes are dropped.
   */
  async #askFor(reader: ResponseState | undefined, request: WorkerRequest): Promise<WorkerAnswer> {
    if (reader === undefined) return this.#ask(request);
    if (reader.closed) throw readerGone();
    const drop = (): void => {
      for (const job of this.#waiting) {
        if (job.request !== request) continue;
        this.#waiting.delete(job);
        job.reject(readerGone());
      }
    };
    reader.on('close', drop);
    try {
      return await this.#ask(request);
    } finally {
      reader.off('close', drop);
    }
  }

  #next(): void {
    if (this.#current !== undefined) return;
    [this.#current] = this.#waiting;
    this.#clock.clearTimeout(this.#idle);
    if (this.#current === undefined) {
      this.#idle = this.#clock.setTimeout(() => this.#endWorker(), idleMs);
      this.#idle.unref?.();
      return;
    }
    this.#waiting.delete(this.#current);
    const { request } = this.#current;
    try {
      const worker = (this.#worker ??= this.#start());
      this.#currentWorker = worker;
      // This copy can be transferred to the worker. It is made only now, so that waiting requests have no copy.
      const bytes = new Uint8Array(request.bytes);
      worker.postMessage({ ...request, bytes }, [bytes.buffer]);
    } catch (cause) {
      // The system has no thread for the worker, so this job fails. The next job may get a thread.
      this.#settle(({ reject }) => reject(noWorker(cause)));
    }
  }

  #start(): Worker {
    const worker = new Worker(new URL('./body-worker.js', import.meta.url), {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: this.#maxHeapMb },
    });
    const end = (error: ApiError): void => {
      if (this.#worker === worker) this.#worker = undefined;
      if (this.#currentWorker === worker) this.#settle(({ reject }) => reject(error));
    };
    worker.on('message', (answer: WorkerAnswer) => this.#settle(({ resolve }) => resolve(answer)));
    worker.on('error', (cause: NodeJS.ErrnoException) =>
      // When a worker runs out of memory, the body that it is reading is the cause.
      end(cause.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuchMemory(cause) : noWorker(cause)),
    );
    worker.on('exit', () => end(closed()));
    worker.unref();
    return worker;
  }

  #endWorker(): void {
    const worker = this.#worker;
    if (worker === undefined) return;
    this.#worker = undefined;
    const ending = worker.terminate().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  #settle(settle: (job: Job) => void): void {
    const job = this.#current;
    this.#current = undefined;
    this.#currentWorker = undefined;
    if (job !== undefined) settle(job);
    if (!this.#isClosed) this.#next();
  }
}

function tooMuchMemory(cause: unknown): ApiError {
  const message = 'Request entity too large: it takes too much memory';
  return new ApiError('RequestEntityTooLarge', message, { cause });
}

function noWorker(cause: unknown): ApiError {
  const message = 'large bodies cannot be read at the moment';
  return new ApiError('ServiceUnavailable', message, { cause, retryAfterSeconds: 1 });
}

function readerGone(): ApiError {
  return new ApiError('BadRequest', 'the client disconnected before its body was decoded');
}

function closed(): ApiError {
  return new ApiError('ServiceUnavailable', 'the server is shutting down', { retryAfterSeconds: 1 });
}
