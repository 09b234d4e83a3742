import type { Clock } from '@homeostat/controller-runtime/api';

import type { EtcdConnection } from './etcd-connection.ts';
import type { EtcdLayout } from './etcd-layout.ts';
import type { EtcdLink } from './etcd-link.ts';
import type { Compare, Integer } from './etcd-messages.ts';
import { foundIn, get, isAbsent, isEqual } from './transactions.ts';
import { PeriodicTask } from '../../base/periodic-task.ts';
import { StoreError } from '../store-error.ts';

/** The lifetime of the lease: after this time, a store that was killed no longer excludes other stores. */
const ttlS = 10;
const renewalMs = 3_000;

export interface EtcdLockParts {
  readonly layout: EtcdLayout;
  readonly name: string;
  /** The id of this `EtcdStore` instance. */
  readonly id: string;
  readonly clock: Clock;
  readonly isExclusive: boolean;
}

/**
 * The key which shows that a store has the database open. etcd deletes the key when the lease of the store ends. A
 * store that needs the database exclusively has the key `exclusive` instead, which every write checks. It gets this key
 * only when no other store has the database open.
 */
export class EtcdLock {
  readonly #parts: EtcdLockParts;
  readonly #lease: number;
  #renewals: PeriodicTask | undefined;

  constructor(parts: EtcdLockParts) {
    this.#parts = parts;
    this.#lease = leaseId(parts.id);
  }

  /**
   * The condition of every write. If this store needs the database exclusively, the key `exclusive` must have the id of
   * this store. Otherwise, the key must be absent: then no store has exclusive use of the database.
   */
  get condition(): Compare {
    const { layout, id, isExclusive } = this.#parts;
    return isExclusive ? isEqual(layout.exclusive, Buffer.from(id)) : isAbsent(layout.exclusive);
  }

  /**
   * Called when etcd refused a write, with the value of the key `exclusive`. Throws StoreError `locked` if this value
   * shows that another store uses the database exclusively, or that this store has lost its exclusive use.
   */
  check(found: Buffer | undefined): void {
    const { name, id, isExclusive } = this.#parts;
    if (isExclusive ? found?.toString() === id : found === undefined) return;
    throw new StoreError('locked', `${name} is in use by another process that needs it exclusively`);
  }

  /**
   * Creates the lease if it does not exist, and writes the key of this store. Rejects with StoreError `locked` when
   * other stores prevent this.
   */
  async take(connection: EtcdConnection): Promise<void> {
    const { layout, name, id, isExclusive } = this.#parts;
    const { error } = await connection.call('Lease/LeaseGrant', { TTL: ttlS, ID: this.#lease }).catch(isKnownLease);
    if (error !== '') throw new StoreError('io', `${name} grants no lease: ${error}`);
    const key = isExclusive ? layout.exclusive : layout.store(id);
    const place = { request_put: { key, value: Buffer.from(id), lease: this.#lease } };
    const compare = isExclusive ? [isAbsent(layout.exclusive), isAbsent(layout.stores)] : [isAbsent(layout.exclusive)];
    const stores = { request_range: { ...layout.stores, keys_only: true, limit: 100 } };
    const failure = [get(layout.exclusive), stores];
    const { succeeded, responses } = await connection.call('KV/Txn', { compare, success: [place], failure });
    if (succeeded) return;
    const found = foundIn(responses);
    const exclusive = found.get(layout.exclusive.toString());
    if (exclusive !== undefined) return this.check(exclusive);
    throw new StoreError(
      'locked',
      `${name} is in use by ${found.size} process${found.size === 1 ? '' : 'es'}; all of them must close it (a killed process still counts for ${ttlS} s)`,
    );
  }

  /** Starts to renew the lease. */
  keep(link: EtcdLink): void {
    const { clock } = this.#parts;
    this.#renewals = new PeriodicTask({
      clock,
      intervalMs: renewalMs,
      // A failed renewal does no harm. If the lease ends, the writes of this store are still refused while another
      // store has the database exclusively.
      run: () =>
        link
          .get()
          .then((connection) => this.#renew(connection))
          .catch(() => undefined),
    });
    this.#renewals.start();
  }

  /** Stops the renewals, and ends the lease. */
  async release(link: EtcdLink): Promise<void> {
    if (!this.#renewals) return;
    await this.#renewals.stop();
    // If the cluster does not respond, the lease ends by itself.
    await link.repeat((connection) => connection.call('Lease/LeaseRevoke', { ID: this.#lease })).catch(() => undefined);
  }

  async #renew(connection: EtcdConnection): Promise<void> {
    const remaining = await renew(connection, this.#lease);
    if (remaining <= 0) await this.take(connection);
  }
}

/** Renews a lease. Resolves with its remaining time; 0 if it has ended, or if the stream ends without a response. */
function renew(connection: EtcdConnection, id: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const stream = connection.stream('Lease/LeaseKeepAlive', renewalMs);
    stream.once('data', ({ TTL }: { readonly TTL: Integer }) => {
      resolve(Number(TTL.toString()));
      stream.cancel();
    });
    stream.on('error', reject);
    stream.on('end', () => resolve(0));
    stream.write({ ID: id });
  });
}

/** Returns 52 bits of the store's id, as a number that no other store has. */
function leaseId(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 13), 16) || 1;
}

function isKnownLease(error: unknown): { readonly error: string } {
  if (error instanceof Error && error.message.includes('lease already exists')) return { error: '' };
  throw error;
}
