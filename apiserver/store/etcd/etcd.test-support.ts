import { randomUUID } from 'node:crypto';
import { systemClock } from '@homeostat/controller-runtime';
import { type Clock, silentLogger } from '@homeostat/controller-runtime/api';

import { EtcdCluster, type EtcdClusterOptions, hasEtcd, missingEtcd } from './etcd-cluster.test-support.ts';
import { createEtcdStore, type EtcdStoreParts } from './etcd-store.ts';
import { parseEtcdUrl } from './etcd-url.ts';
import type { Store } from '../store.ts';

/**
 * A clock whose timers and monotonic time run ten times as fast as real time, for tests that wait for the store's time
 * limits.
 */
export const hurriedClock: Clock = {
  now: () => systemClock.now(),
  monotonicMs: () => systemClock.monotonicMs() * 10,
  setTimeout: (callback, delayMs) => systemClock.setTimeout(callback, delayMs / 10),
  clearTimeout: (timer) => systemClock.clearTimeout(timer),
};

/** A cluster for the tests of a `describe`. Each test uses its own prefixes. */
export class EtcdTestCluster {
  readonly #stores: Store[] = [];
  #cluster: EtcdCluster | undefined;

  /** Starts the cluster before the tests of the `describe` that calls it, and skips them without etcd. */
  static use(options: EtcdClusterOptions = {}): EtcdTestCluster {
    return EtcdTestCluster.#use(() => EtcdCluster.start(options));
  }

  /** Like {@link use}, but with the cluster of one member that {@link EtcdCluster.shared} returns. */
  static useShared(): EtcdTestCluster {
    return EtcdTestCluster.#use(() => EtcdCluster.shared());
  }

  static #use(cluster: () => Promise<EtcdCluster>): EtcdTestCluster {
    const own = new EtcdTestCluster();
    before(async function start() {
      this.timeout(60_000);
      if (!(await hasEtcd())) this.skipBecause(missingEtcd);
      own.#cluster = await cluster();
    });
    afterEach(() => own.closeStores());
    after(() => own.#cluster?.stop());
    return own;
  }

  get cluster(): EtcdCluster {
    if (!this.#cluster) throw new Error('not started');
    return this.#cluster;
  }

  /** Returns the URL of an empty database. */
  freshUrl(): string {
    return this.cluster.url(`/test/${randomUUID()}`);
  }

  /** Returns a store that is not open yet. */
  store(url: string, options: Partial<EtcdStoreParts> = {}): Store {
    const database = options.database ?? parseEtcdUrl(url, {});
    const parts = { clock: systemClock, logger: silentLogger, uuid: randomUUID };
    const store = createEtcdStore({ ...parts, ...options, database });
    this.#stores.push(store);
    return store;
  }

  /** Returns an open store. Without a URL, its database is empty. */
  async open(url: string = this.freshUrl(), options: Partial<EtcdStoreParts> = {}): Promise<Store> {
    const store = this.store(url, options);
    await store.open();
    return store;
  }

  async closeStores(): Promise<void> {
    await Promise.allSettled(this.#stores.splice(0).map((store) => store.close()));
  }
}
