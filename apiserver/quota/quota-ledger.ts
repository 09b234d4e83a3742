import { ApiError } from '@homeostat/controller-runtime/api';
import type { ApiObject, Clock } from '@homeostat/controller-runtime/api';
import { counterIndex, counterValue } from '../builtin/resource-quota-kind.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import { resourceName } from '../registry/object/resource-errors.ts';
import type { Reservation } from '../registry/writes/registry-parts.ts';
import { waitForTurn } from '../registry/writes/wait-for-turn.ts';
import type { RequiredClaim } from '../store/store.ts';
import { countIn, countKey, entriesIn, prepareCount, readQuota } from './quota-counts.ts';
import type { ReadQuota } from './quota-counts.ts';

export interface QuotaLedgerParts {
  /** True when other processes create objects in the same database. */
  readonly isShared: boolean;
  /** The id of this process, which differs from the ids of all others. */
  readonly id: string;
  readonly clock: Clock;
  /** Returns a random number of at least 0 and less than 1, with a uniform distribution. */
  readonly random: () => number;
  /** Records in the quota's status that the process with this id counts the objects under the quota. */
  readonly takeOver: (quota: ApiObject, id: string) => Promise<void>;
}

/** The running creations of one kind in one namespace, and the callers that wait for one of them to end. */
interface UnderWay {
  count: number;
  readonly waiting: (() => void)[];
}

/**
 * Counts objects against quotas: the objects in memory, and the running creations of this process. Only one of several
 * processes counts the objects under a quota at a time. The quota's status names that process. The store commits a
 * creation only if the quota's status still names the process that sends the creation. When a process takes over, its
 * memory first receives all earlier creations of the other processes. So a quota is never exceeded, and no creation is
 * refused while the quota has room.
 */
export class QuotaLedger {
  readonly #parts: QuotaLedgerParts;
  readonly #underWay = new Map<string, UnderWay>();
  /**
   * For each quota, by its uid: the claim that the store checks at each creation. Claims are reused because stores
   * compare them by identity.
   */
  readonly #claims = new Map<string, RequiredClaim>();
  readonly #takeOvers = new Map<string, Promise<void>>();
  /**
   * For each quota, by its uid: the number of times that this process has waited before it tried to take over the quota
   * from another process. The count restarts when this process has created an object, or refused a creation, under the
   * quota.
   */
  readonly #turns = new Map<string, number>();

  constructor(parts: QuotaLedgerParts) {
    this.#parts = parts;
  }

  /**
   * Counts a new object before it is created; returns undefined when no quota counts it. Call `release` of the result
   * once the object is created, or its creation has failed. Rejects with ApiError Forbidden when a quota is used up.
   */
  reserve(quotas: Resource, resource: Resource, object: ApiObject): Promise<Reservation> | undefined {
    const { namespace } = object.metadata;
    if (namespace === undefined) return undefined;
    if (prepareCount(quotas) === undefined && this.#quotasOf(quotas, resource, namespace).length === 0)
      return undefined;
    return this.#reserve({ quotas, resource, object, namespace });
  }

  async #reserve(asked: Asked): Promise<Reservation> {
    const { quotas, resource, object, namespace } = asked;
    const place = `${resource.keyPrefix}${namespace}`;
    for (;;) {
      await Promise.all([prepareCount(quotas), prepareCount(resource)]);
      const counting = this.#quotasOf(quotas, resource, namespace);
      const foreign = this.#parts.isShared ? counting.find((quota) => !this.#isCounter(quota)) : undefined;
      if (foreign !== undefined) {
        await this.#takeOver(foreign);
        continue;
      }
      const used = countIn(resource, namespace);
      const underWay = this.#underWay.get(place);
      const full = counting.find(
        ({ hard }) => used + (underWay?.count ?? 0) >= (hard.get(countKey(resource.model)) ?? 0),
      );
      if (full === undefined) return this.#hold(place, counting, this.#claimsOf(quotas, counting));
      // While other creations run, this creation waits: if one of the others fails, the quota has room again.
      if (underWay === undefined) {
        this.#decided(counting);
        throw exceeded(resource, object, { quota: full, used });
      }
      await new Promise<void>((resolve) => underWay.waiting.push(resolve));
    }
  }

  #hold(place: string, counting: readonly ReadQuota[], requires: readonly RequiredClaim[]): Reservation {
    const underWay = this.#underWay.get(place) ?? { count: 0, waiting: [] };
    this.#underWay.set(place, underWay);
    underWay.count += 1;
    const release = (isCreated: boolean): void => {
      if (isCreated) this.#decided(counting);
      this.#release(place, underWay);
    };
    return { requires, release };
  }

  #decided(counting: readonly ReadQuota[]): void {
    for (const { object } of counting) this.#turns.delete(object.metadata.uid ?? '');
  }

  #release(place: string, underWay: UnderWay): void {
    underWay.count -= 1;
    if (underWay.count === 0) this.#underWay.delete(place);
    for (const wake of underWay.waiting.splice(0)) wake();
  }

  #quotasOf(quotas: Resource, { model }: Resource, namespace: string): readonly ReadQuota[] {
    const key = countKey(model);
    return entriesIn(quotas, namespace)
      .map(readQuota)
      .filter(({ hard }) => hard.has(key));
  }

  #isCounter({ object }: ReadQuota): boolean {
    return object.status?.counter === this.#parts.id;
  }

  #claimsOf(quotas: Resource, counting: readonly ReadQuota[]): readonly RequiredClaim[] {
    if (!this.#parts.isShared) return [];
    return counting.map(({ object: { metadata } }) => {
      const value = counterValue(metadata, this.#parts.id);
      const uid = metadata.uid ?? '';
      let claim = this.#claims.get(uid);
      if (claim === undefined || claim.claim[1] !== value) {
        claim = quotas.requiredClaim({ index: counterIndex, value });
        this.#claims.set(uid, claim);
      }
      return claim;
    });
  }

  /**
   * Tries to make this process the one that counts the objects under a quota. All creations that wait for the same
   * quota share one takeover.
   */
  #takeOver({ object }: ReadQuota): Promise<void> {
    const uid = object.metadata.uid ?? '';
    let takeOver = this.#takeOvers.get(uid);
    if (takeOver === undefined) {
      takeOver = this.#takeTurn(object).finally(() => this.#takeOvers.delete(uid));
      this.#takeOvers.set(uid, takeOver);
    }
    return takeOver;
  }

  async #takeTurn(object: ReadQuota['object']): Promise<void> {
    const { takeOver, id } = this.#parts;
    // If another process counts the objects under this quota, this process waits, so that the other one can finish its
    // running creations. After a takeover, the other process would have to repeat them.
    if (object.status?.counter !== undefined) {
      const uid = object.metadata.uid ?? '';
      const turns = this.#turns.get(uid) ?? 0;
      this.#turns.set(uid, turns + 1);
      await waitForTurn(this.#parts, turns);
    }
    await takeOver(object, id);
  }
}

interface Asked {
  readonly quotas: Resource;
  readonly resource: Resource;
  readonly object: ApiObject;
  readonly namespace: string;
}

function exceeded(
  { model }: Resource,
  { metadata: { name } }: ApiObject,
  { quota, used }: { readonly quota: ReadQuota; readonly used: number },
): ApiError {
  const key = countKey(model);
  const limit = quota.hard.get(key) ?? 0;
  const why = `exceeded quota: ${quota.object.metadata.name}, requested: ${key}=1, used: ${key}=${used}, limited: ${key}=${limit}`;
  const { group, plural } = model;
  const message = `${resourceName(model)} "${name}" is forbidden: ${why}`;
  return new ApiError('Forbidden', message, { details: { name, group, kind: plural } });
}
