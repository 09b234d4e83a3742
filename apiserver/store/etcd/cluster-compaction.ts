import type { Clock, Logger } from '@homeostat/controller-runtime/api';

import type { EtcdLayout } from './etcd-layout.ts';
import type { EtcdLink } from './etcd-link.ts';
import type { Integer } from './etcd-messages.ts';

/**
 * The time for which former states of keys are kept, because other programs that use the cluster may read them. The API
 * server of Kubernetes keeps them for the same time.
 */
const keptMs = 5 * 60_000;

export interface ClusterCompactionParts {
  readonly link: EtcdLink;
  readonly layout: EtcdLayout;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Drops old states of keys. By default, etcd keeps each state until a client requests a compaction, and it refuses all
 * writes once its quota is used up. The store itself reads former states only while it reads the claims of a kind page
 * by page.
 */
export class ClusterCompaction {
  readonly #parts: ClusterCompactionParts;
  #mark: { readonly revision: Integer; readonly atMs: number } | undefined;

  constructor(parts: ClusterCompactionParts) {
    this.#parts = parts;
  }

  /** Compacts the states that are old enough. Called from time to time. Never rejects. */
  async run(): Promise<void> {
    const { link, layout, clock, logger } = this.#parts;
    const mark = this.#mark;
    const nowMs = clock.monotonicMs();
    if (mark && nowMs - mark.atMs < keptMs) return;
    try {
      const connection = await link.get();
      const { header } = await connection.call('KV/Range', { key: layout.head, keys_only: true, serializable: true });
      this.#mark = { revision: header.revision, atMs: nowMs };
      if (mark) await connection.call('KV/Compact', { revision: mark.revision });
    } catch (err) {
      // Another program or the cluster itself has already compacted these states or later ones: nothing is left to do.
      if (err instanceof Error && err.message.includes('has been compacted')) return;
      logger.warn({ err, database: link.name }, 'old states of keys in etcd were not compacted; trying again');
    }
  }
}
