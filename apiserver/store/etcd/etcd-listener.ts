import type { Clock, Logger, Timer } from '@homeostat/controller-runtime/api';
import { silentLogger } from '@homeostat/controller-runtime/api';

import type { EtcdConnection } from './etcd-connection.ts';
import type { EtcdLayout } from './etcd-layout.ts';
import { EtcdLink, type EtcdLinkParts } from './etcd-link.ts';
import type { WatchResponse } from './etcd-messages.ts';
import { type Head, parseHead } from './head.ts';
import type { ChangeSource, ChangeSubscription } from '../server/change-subscription.ts';
import { StoreError } from '../store-error.ts';

/** The time within which a member must start a watch. */
const startTimeoutMs = 3_000;

export interface EtcdListenerParts extends Pick<EtcdLinkParts, 'database' | 'clock'> {
  readonly layout: EtcdLayout;
  /** Called with each new value of the key `head` of etcd, which contains the revision. */
  readonly onHead: (head: Head) => void;
}

/**
 * Watches the key `head` of etcd, which each commit replaces, on a separate connection. Reports the revision in each
 * received value to the subscription.
 */
export function listenForCommits(
  { database, clock, layout, onHead }: EtcdListenerParts,
  subscription: Pick<ChangeSubscription, 'notice' | 'look'>,
): ChangeSource {
  // This connection logs nothing, because the store's other connection reports when the cluster is lost.
  const logger: Logger = silentLogger;
  const prepare = async (connection: EtcdConnection): Promise<void> => {
    await watchHead(connection, {
      layout,
      clock,
      onHead: (value) => {
        const head = readHead(value);
        if (head === undefined) return subscription.look();
        onHead(head);
        subscription.notice(head.revision);
      },
    });
    // This look finds the commits that were made before the watch started.
    subscription.look();
  };
  const link = new EtcdLink({ database, clock, logger, prepare });
  link.start();
  return link;
}

interface HeadWatch {
  readonly layout: EtcdLayout;
  readonly clock: Clock;
  readonly onHead: (value: Buffer) => void;
}

/** Resolves when the watch has started. When the watch ends, the connection counts as lost. */
async function watchHead(connection: EtcdConnection, { layout, clock, onHead }: HeadWatch): Promise<void> {
  let timer: Timer | undefined;
  await new Promise<void>((resolve, reject) => {
    const stream = connection.stream('Watch/Watch');
    const end = (error: Error): void => {
      reject(new StoreError('io', error.message));
      connection.lose();
    };
    timer = clock.setTimeout(() => end(new Error('the member does not start a watch')), startTimeoutMs);
    stream.on('error', end);
    stream.on('end', () => end(new Error('the watch has ended')));
    stream.on('data', ({ created, canceled, cancel_reason: reason, events }: WatchResponse) => {
      if (canceled) end(new Error(`the watch was cancelled: ${reason}`));
      if (created) resolve();
      const last = events.at(-1);
      if (last) onHead(last.kv.value);
    });
    stream.write({ create_request: { key: layout.head } });
  }).finally(() => clock.clearTimeout(timer));
}

/**
 * Parses the value of the etcd key `head`. Returns undefined if the key is deleted, or if a newer version of the
 * program has written the value; the next read reports such a value.
 */
function readHead(value: Buffer): Head | undefined {
  try {
    return parseHead(value, '');
  } catch {
    return undefined;
  }
}
