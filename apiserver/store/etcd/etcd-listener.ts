import type { Clock, Logger, Timer } from '@homeostat/controller-runtime/api';
import { silentLogger } from '@homeostat/controller-runtime/api';

import type { EtcdConnection } from './etcd-connection.ts';
import type { EtcdLayout } from './etcd-layout.ts';
import { EtcdLink, type EtcdLinkParts } from './etcd-link.ts';
import type { WatchResponse } from './etcd-messages.ts';
import { parseHead } from './head.ts';
import type { ChangeSource, ChangeSubscription } from '../server/change-subscription.ts';
import { StoreError } from '../store-error.ts';

/** The time in which a member has to start a watch. */
const startTimeoutMs = 3_000;

export interface ListenOptions extends Pick<EtcdLinkParts, 'database' | 'clock'> {
  readonly layout: EtcdLayout;
}

/** Receives the revisions of all commits from a watch of the head, on a connection of its own. */
export function listenForCommits(
  { database, clock, layout }: ListenOptions,
  subscription: Pick<ChangeSubscription, 'notice' | 'look'>,
): ChangeSource {
  // The other connection reports that the cluster is lost.
  const logger: Logger = silentLogger;
  const prepare = async (connection: EtcdConnection): Promise<void> => {
    await watchHead(connection, { layout, clock, notice: (revision) => subscription.notice(revision) });
    // For commits from before the watch.
    subscription.look();
  };
  const link = new EtcdLink({ database, clock, logger, prepare });
  link.start();
  return link;
}

interface HeadWatch {
  readonly layout: EtcdLayout;
  readonly clock: Clock;
  readonly notice: (revision: number) => void;
}

/** Resolves when the watch has started; its end ends the connection. */
async function watchHead(connection: EtcdConnection, { layout, clock, notice }: HeadWatch): Promise<void> {
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
      // A deleted head has no value: the next read reports it.
      if (last && last.kv.value.byteLength > 0) notice(parseHead(last.kv.value, '').revision);
    });
    stream.write({ create_request: { key: layout.head } });
  }).finally(() => clock.clearTimeout(timer));
}
