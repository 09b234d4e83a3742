import { ApiError } from '@homeostat/controller-runtime/api';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import { PeriodicTask } from '../base/periodic-task.ts';
import type { MemoryMeter, MemoryUse } from './process-memory.ts';

/**
 * The usable share of the limit of the heap. Beyond it, V8 ends a process when garbage collections free little memory.
 */
const usableShare = 0.8;

/**
 * Memory counts as full when at least this share of the usable heap is used, or at least this share of the memory that
 * the system grants.
 */
const fullShare = 0.85;

/** Memory that has become full counts as full until the used share falls below this value. */
const freeShare = 0.82;

/**
 * A start fails if the objects of the server would fill memory to this share or more. The share is larger than
 * {@link fullShare}, so that a server whose memory counts as full can start, and users can then delete objects.
 */
const startShare = 0.9;

/**
 * The time between two measurements when the used share is at least one half. When less is used, the time is
 * {@link farMs}. A measurement takes 25 µs.
 */
const nearMs = 100;
const farMs = 1000;

/**
 * Above {@link fullShare}, garbage is collected again when the heap has grown by more than this share of its usable
 * size. While memory is full, garbage is also collected {@link collectMs} after the last collection.
 */
const collectShare = 0.05;
const collectMs = 5000;

/**
 * The heap memory that each object needs for the indexes of its kind. They are built after all objects of the kind have
 * been read.
 */
const indexBytesPerObject = 200;

/**
 * The memory outside of the heap that an object needs in addition to its stored bytes: the metadata that the server
 * adds, its record, and its places in the indexes. For kinds with many or long index values, this is too low.
 */
const recordBytesPerObject = 400;

const retryAfterSeconds = 10;

/** The objects in a database, and the sum of their stored bytes. */
export interface StoredObjects {
  readonly objects: number;
  readonly bytes: number;
}

export interface MemoryLimitParts {
  readonly meter: MemoryMeter;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A function that is called repeatedly while memory is full, to free memory where this is possible. */
  readonly onFull: () => void;
}

/**
 * Refuses writes when the process has too little memory, before V8 or the system ends the process. Two limits apply:
 * the limit of V8's heap, and the memory that the system grants.
 */
export class MemoryLimit {
  /** True while creations, and updates that make objects larger, are refused. */
  isFull = false;
  readonly #parts: MemoryLimitParts;
  readonly #periodic: PeriodicTask;
  #collectedMs = Number.NEGATIVE_INFINITY;
  #collectedHeap = 0;
  #pauseMs = farMs;
  /** The memory in use before the first object was read; undefined until {@link begin} is called. */
  #before: MemoryUse | undefined;
  /** The sum of the numbers that {@link end} received: the objects of the kinds that have been read completely. */
  #opened = 0;
  #refusals = 0;

  constructor(parts: MemoryLimitParts) {
    this.#parts = parts;
    this.#periodic = new PeriodicTask({
      clock: parts.clock,
      intervalMs: () => this.#pauseMs,
      run: () => this.#sample(),
    });
  }

  /** Starts to measure the memory, until {@link stop} is called. */
  start(): void {
    this.#sample();
    this.#periodic.start();
  }

  stop(): Promise<void> {
    return this.#periodic.stop();
  }

  /** The number of refused writes. */
  get refusals(): number {
    return this.#refusals;
  }

  /**
   * The used share of the usable heap, or the used share of the memory that the system grants, whichever is larger. 1
   * means that the usable heap or the granted memory is used completely.
   */
  get share(): number {
    return shareOf(this.#parts.meter.read());
  }

  /** Counts a refused write, and returns its error (507 InsufficientStorage). */
  refuse(): ApiError {
    this.#refusals += 1;
    const message =
      'the memory of the server is full, so objects cannot be created or grow: delete objects, or raise the limit';
    return new ApiError('InsufficientStorage', message, { retryAfterSeconds });
  }

  /** Frees the garbage if memory counts as full. */
  collectIfFull(): void {
    if (this.share >= fullShare) this.collect();
  }

  /** Call this before the objects of each kind are read. The first call notes the memory in use. */
  begin(): void {
    this.#before ??= this.#parts.meter.read();
  }

  /** Adds the number of a kind's objects to the total of all kinds. Call this after these objects were read. */
  end(objects: number): void {
    this.#opened += objects;
  }

  /**
   * Estimates the memory in use after the caller has allocated `bytesAhead` bytes outside of the heap, and has built
   * the indexes of a kind that is being opened. `objects` is the number of the kind's objects in memory, which have no
   * indexes yet. Returns undefined if the estimate fits into memory, otherwise the estimate.
   */
  excess(objects: number, bytesAhead: number): MemoryUse | undefined {
    const withNext = (use: MemoryUse): MemoryUse => ({
      ...use,
      heap: use.heap + objects * indexBytesPerObject,
      resident: use.resident + bytesAhead,
    });
    if (shareOf(withNext(this.#parts.meter.read())) < startShare) return undefined;
    const use = withNext(this.collect());
    return shareOf(use) < startShare ? undefined : use;
  }

  /**
   * Returns a message that says how much memory a start with the stored objects needs. Call this when a kind does not
   * fit into memory: `use` is the estimate that {@link excess} returned, and `read` is the number of objects of this
   * kind that were in memory then.
   */
  needOf(stored: StoredObjects, use: MemoryUse, read: number): string {
    const before = this.#before ?? use;
    const isHeap = shareOfHeap(use) > shareOfResident(use);
    const loaded = this.#opened + read;
    const perObject = loaded === 0 ? indexBytesPerObject : (use.heap - before.heap) / loaded;
    const estimate = isHeap
      ? before.heap + stored.objects * perObject
      : before.resident + stored.bytes + stored.objects * recordBytesPerObject;
    // The memory in use now was not enough to read all objects, so they need at least this much.
    const needed = Math.max(estimate, isHeap ? use.heap : use.resident) / (fullShare * (isHeap ? usableShare : 1));
    const limit = isHeap ? use.heapLimit : use.residentLimit;
    const cure = isHeap
      ? `set NODE_OPTIONS=--max-old-space-size=${inMiB(needed)}`
      : 'raise the memory of the container or control group';
    return `the ${stored.objects} stored objects need about ${inMiB(needed)} MiB of memory, and the limit is ${inMiB(limit)} MiB: ${cure}`;
  }

  /** Frees the garbage, and returns the memory in use. */
  collect(): MemoryUse {
    this.#parts.meter.collect();
    return this.#parts.meter.read();
  }

  #sample(): void {
    const { meter, clock, onFull } = this.#parts;
    let use = meter.read();
    const nowMs = clock.monotonicMs();
    if (shareOf(use) < freeShare) {
      this.#collectedHeap = 0;
      this.#judge(use);
    } else if (shareOf(use) >= fullShare && this.#isCollectionDue(use, nowMs)) {
      // The heap may consist mostly of garbage. So the garbage is collected before the use is compared with the limit.
      use = this.collect();
      this.#collectedMs = nowMs;
      this.#collectedHeap = use.heap;
      this.#judge(use);
    }
    this.#pauseMs = shareOf(use) < 0.5 ? farMs : nearMs;
    if (this.isFull) onFull();
  }

  #isCollectionDue({ heap, heapLimit }: MemoryUse, nowMs: number): boolean {
    const hasGrown = heap - this.#collectedHeap > collectShare * usableShare * heapLimit;
    return hasGrown || (this.isFull && nowMs - this.#collectedMs >= collectMs);
  }

  #judge(use: MemoryUse): void {
    const share = shareOf(use);
    const isFull = share >= fullShare || (this.isFull && share >= freeShare);
    if (isFull === this.isFull) return;
    this.isFull = isFull;
    const { logger } = this.#parts;
    if (isFull) logger.warn({ ...use, share }, 'memory is full: creations and growing updates are refused (507)');
    else logger.info({ ...use, share }, 'memory is no longer full: all writes are accepted');
  }
}

function shareOf(use: MemoryUse): number {
  return Math.max(shareOfHeap(use), shareOfResident(use));
}

function shareOfHeap({ heap, heapLimit }: MemoryUse): number {
  return heap / (heapLimit * usableShare);
}

function shareOfResident({ resident, residentLimit }: MemoryUse): number {
  return resident / residentLimit;
}

function inMiB(bytes: number): number {
  return Math.ceil(bytes / 1024 / 1024);
}
