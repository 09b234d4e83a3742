import { controllerModel, runModel } from '@homeostat/controller-runtime/api';
import type { Clock, Logger, Timer } from '@homeostat/controller-runtime/api';
import type { Entry } from '../index/entry.ts';
import type { KindCache } from '../index/kind-cache.ts';
import { deleteEntries } from '../registry/delete-entries.ts';
import type { Registry } from '../registry/registry.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { decodeObject } from '../registry/object/object-codec.ts';

/** The limits for records of runs. A record is kept as long as it is within all of them. */
interface RunRetention {
  /** The age at which a record expires. Default 24 hours. */
  readonly maxAgeMs: number;
  /** The maximum number of objects of the kind Run for each controller; the newest ones are kept. Default 1,000. */
  readonly maxRuns: number;
  /** The maximum number of bytes of all records together. Default 64 MiB. */
  readonly maxBytes: number;
}

const defaultRunRetention: RunRetention = { maxAgeMs: 86_400_000, maxRuns: 1000, maxBytes: 64 * 1024 * 1024 };

const intervalMs = 30_000;

/** The number of deletions in one step. Other writes run between two steps. */
const deletedAtOnce = 50;

/**
 * A stopped controller counts as removed once its last report is older than this, since its plugin was probably
 * removed.
 */
const stoppedAgeMs = 30 * 86_400_000;

export interface RunExpiryParts {
  readonly registry: Registry;
  readonly table: ResourceTable;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retention?: RunRetention;
}

/**
 * Deletes old records of runs, and the objects that describe removed controllers. Several replicas may delete the same
 * objects.
 */
export class RunExpiry {
  readonly #parts: RunExpiryParts;
  readonly #resources = new Map<Resource, () => void>();
  #timer: Timer | undefined;
  #run: Promise<void> | undefined;
  #isStopped = false;

  constructor(parts: RunExpiryParts) {
    this.#parts = parts;
    parts.table.on('opened', (resource) => this.#follow(resource));
    parts.table.on('closed', (resource) => {
      this.#resources.get(resource)?.();
      this.#resources.delete(resource);
    });
  }

  /** True while nothing is being deleted. */
  isIdle(): boolean {
    return this.#run === undefined;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#parts.clock.clearTimeout(this.#timer);
    for (const unsubscribe of this.#resources.values()) unsubscribe();
    await this.#run;
  }

  #follow(resource: Resource): void {
    const { group, kind } = resource.model;
    if (group !== runModel.group || (kind !== runModel.kind && kind !== controllerModel.kind)) return;
    const schedule = (): void => this.#schedule();
    this.#resources.set(resource, resource.feed.subscribe(schedule));
    if (resource.cache.size > 0) schedule();
  }

  #schedule(): void {
    if (this.#isStopped || this.#timer !== undefined || this.#run !== undefined) return;
    this.#timer = this.#parts.clock.setTimeout(() => {
      this.#timer = undefined;
      this.#run = this.#work();
    }, intervalMs);
    this.#timer.unref?.();
  }

  async #work(): Promise<void> {
    await this.#pass();
    this.#run = undefined;
    // The next pass is scheduled here, because records expire without a change that would start it.
    if ([...this.#resources.keys()].some(({ cache }) => cache.size > 0)) this.#schedule();
  }

  async #pass(): Promise<void> {
    const { clock, logger, registry, retention = defaultRunRetention } = this.#parts;
    try {
      for (const resource of this.#resources.keys()) {
        const isRuns = resource.model.kind === runModel.kind;
        const nowMs = clock.now();
        const entries = isRuns ? expiredRuns(resource.cache, retention, nowMs) : goneControllers(resource.cache, nowMs);
        await deleteEntries(
          registry,
          { resource, entries },
          { atOnce: deletedAtOnce, optionsOf: () => ({}), isStopped: () => this.#isStopped },
        );
      }
    } catch (err) {
      logger.warn({ err }, 'expired records of runs or controllers could not be deleted; trying again');
    }
  }
}

/** Returns the records that have expired. It reads only values of indexes, so 20,000 records take some milliseconds. */
function expiredRuns(cache: KindCache, { maxAgeMs, maxRuns, maxBytes }: RunRetention, nowMs: number): readonly Entry[] {
  const [times, controllers] = [cache.index('startTime'), cache.index('controller')];
  if (times === undefined || controllers === undefined) return [];
  const oldest = times.spec.indexFunc.encode?.(new Date(nowMs - maxAgeMs).toISOString()) ?? '';
  const expired: Entry[] = [];
  const counts = new Map<string, number>();
  let bytes = 0;
  times.values.forEachDescending(0, (entry) => {
    const [controller = ''] = controllers.valuesOf(entry);
    const [time = ''] = times.valuesOf(entry);
    const count = (counts.get(controller) ?? 0) + 1;
    counts.set(controller, count);
    bytes += entry.size;
    if (count > maxRuns || bytes > maxBytes || time < oldest) expired.push(entry);
    return true;
  });
  return expired;
}

function goneControllers(cache: KindCache, nowMs: number): readonly Entry[] {
  return [...cache.entries()].filter(({ bytes }) => {
    const status: unknown = Reflect.get(decodeObject(bytes), 'status');
    if (typeof status !== 'object' || status === null || Reflect.get(status, 'running') !== false) return false;
    return Date.parse(String(Reflect.get(status, 'reportTime'))) < nowMs - stoppedAgeMs;
  });
}
