import { deepEqual, isConflict, isNotFound } from '@homeostat/controller-runtime/api';
import type { ApiObject, Clock, Logger, ObjectKey, Timer } from '@homeostat/controller-runtime/api';
import { resourceQuotaKind } from '../builtin/resource-quota-kind.ts';
import { WorkLoop } from '../controllers/work-loop.ts';
import type { FeedChange } from '../index/feed-change.ts';
import type { Registry } from '../registry/registry.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { countIn, countKey, entriesIn, prepareCount, readQuota } from './quota-counts.ts';

export interface QuotaControllerParts {
  readonly registry: Registry;
  readonly table: ResourceTable;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The time for which changes are collected before a status is written, so that a thousand creations cause one write of
 * the status.
 */
const gatherMs = 200;

const asService = { writer: 'service', fieldManager: 'homeostat', isOwnUpkeep: true } as const;

/**
 * Keeps the fields `status.used` and `status.hard` of quotas up to date, so that people and tools can read them. No
 * limit depends on these fields.
 */
export class QuotaController {
  readonly #parts: QuotaControllerParts;
  readonly #getQuotas: () => Resource | undefined;
  readonly #unsubscribe = new Map<Resource, () => void>();
  readonly #queue: WorkLoop<string>;
  /** The namespaces whose objects or quotas have changed, and that are not in the work queue yet. */
  readonly #changed = new Set<string>();
  #timer: Timer | undefined;

  constructor(parts: QuotaControllerParts) {
    this.#parts = parts;
    this.#getQuotas = parts.table.getterOf(resourceQuotaKind);
    this.#queue = new WorkLoop({
      clock: parts.clock,
      idOf: (namespace) => namespace,
      handle: async (namespace) => this.#count(namespace),
      onFailure: (namespace, err) =>
        parts.logger.error({ err, namespace }, 'quotas could not be counted; trying again later'),
    });
    parts.table.on('opened', (resource) => this.#follow(resource));
    parts.table.on('closed', (resource) => this.#unfollow(resource));
  }

  isIdle(): boolean {
    return this.#queue.isIdle();
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe.values()) unsubscribe();
    this.#parts.clock.clearTimeout(this.#timer);
    await this.#queue.stop();
  }

  #follow(resource: Resource): void {
    if (resource.model.scope !== 'Namespaced') return;
    const isQuotas = isQuotaKind(resource);
    this.#unsubscribe.set(
      resource,
      resource.feed.subscribe((change) => this.#note(change, isQuotas)),
    );
    const quotas = isQuotas ? resource : this.#getQuotas();
    // Objects and quotas may have changed before this subscription, for example while their kind was not served. So
    // each namespace with a quota is counted now.
    for (const { namespace = '' } of quotas?.cache.entries() ?? []) this.#noteNamespace(namespace);
  }

  #unfollow(resource: Resource): void {
    this.#unsubscribe.get(resource)?.();
    this.#unsubscribe.delete(resource);
  }

  #note({ type, entry: { namespace } }: FeedChange, isQuota: boolean): void {
    if (namespace === undefined || (type === 'MODIFIED' && !isQuota)) return;
    if (isQuota || (this.#getQuotas()?.cache.size ?? 0) > 0) this.#noteNamespace(namespace);
  }

  #noteNamespace(namespace: string): void {
    this.#changed.add(namespace);
    if (this.#timer !== undefined) return;
    this.#timer = this.#parts.clock.setTimeout(() => {
      this.#timer = undefined;
      for (const changed of this.#changed) this.#queue.add(changed);
      this.#changed.clear();
    }, gatherMs);
    this.#timer.unref?.();
  }

  async #count(namespace: string): Promise<void> {
    const quotas = this.#getQuotas();
    if (quotas === undefined) return;
    await prepareCount(quotas);
    for (const { key } of entriesIn(quotas, namespace)) await this.#countQuota(quotas, key);
  }

  async #countQuota(quotas: Resource, key: string): Promise<void> {
    const entry = quotas.cache.get(key);
    if (entry === undefined) return;
    const { object } = readQuota(entry);
    const { hard = {} } = object.spec ?? {};
    const used = await this.#usedBy(Object.keys(hard), entry.namespace ?? '');
    const { status = {} } = object;
    const texts = Object.fromEntries(Object.entries(hard).map(([name, amount]) => [name, String(amount)]));
    if (deepEqual(status.hard, texts) && deepEqual(status.used, used)) return;
    const { name, namespace, resourceVersion } = object.metadata;
    const patch = {
      metadata: { resourceVersion },
      status: { hard: exactly(texts, status.hard), used: exactly(used, status.used) },
    };
    await patchStatus(this.#parts.registry, quotas, { key: { name, namespace }, patch }).catch((error: unknown) => {
      if (isNotFound(error)) return;
      if (!isConflict(error)) throw error;
      this.#noteNamespace(namespace);
    });
  }

  async #usedBy(keys: readonly string[], namespace: string): Promise<Readonly<Record<string, string>>> {
    const used: Record<string, string> = {};
    for (const resource of this.#unsubscribe.keys()) {
      const key = countKey(resource.model);
      if (!keys.includes(key)) continue;
      await prepareCount(resource);
      used[key] = String(countIn(resource, namespace));
    }
    return Object.fromEntries(keys.map((key) => [key, used[key] ?? '0']));
  }
}

/** Returns a merge patch that turns `present` into `next`: null removes the keys that `next` does not have. */
function exactly(next: object, present: object = {}): Readonly<Record<string, unknown>> {
  return { ...Object.fromEntries(Object.keys(present).map((key) => [key, null])), ...next };
}

/** Patches the status of a quota, as a write of the server itself. */
async function patchStatus(
  registry: Registry,
  quotas: Resource,
  { key, patch }: { readonly key: ObjectKey; readonly patch: object },
): Promise<void> {
  await registry.patch(quotas, key, { type: 'merge', patch }, { ...asService, subresource: 'status' });
}

/**
 * Records in a quota's status which process counts objects against the quota. Resolves also when the quota was changed
 * or deleted meanwhile.
 */
export async function takeOverQuota(
  { registry, table }: Pick<QuotaControllerParts, 'registry' | 'table'>,
  { metadata: { name, namespace = '', resourceVersion } }: ApiObject,
  counter: string,
): Promise<void> {
  const quotas = table.get(resourceQuotaKind);
  if (quotas === undefined) return;
  try {
    const patch = { metadata: { resourceVersion }, status: { counter } };
    await patchStatus(registry, quotas, { key: { name, namespace }, patch });
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
}

function isQuotaKind({ model }: Resource): boolean {
  return model.group === resourceQuotaKind.group && model.kind === resourceQuotaKind.kind;
}
