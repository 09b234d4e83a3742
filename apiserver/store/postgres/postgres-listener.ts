import type { Clock } from '@homeostat/controller-runtime/api';

import { PostgresConnection } from './postgres-connection.ts';
import { listenCommand } from './postgres-statements.ts';
import type { ChangeSource, ChangeSubscription } from '../server/change-subscription.ts';
import { ConnectionLink } from '../server/connection-link.ts';

/** Listens for notifications of commits in a separate session, and reports them to the subscription. */
export function listenForCommits(
  { url, clock }: { readonly url: string; readonly clock: Clock },
  subscription: Pick<ChangeSubscription, 'notice' | 'look'>,
): ChangeSource {
  const connect = async (): Promise<PostgresConnection> => {
    const connection = await PostgresConnection.open(url);
    try {
      connection.onNotification((payload) => subscription.notice(Number(payload)));
      const [row] = await connection.query<{ command: string }>(listenCommand);
      await connection.execute(row?.command ?? '');
    } catch (error) {
      connection.destroy();
      throw error;
    }
    // This look finds the commits that were made before this session listened.
    subscription.look();
    return connection;
  };
  const link = new ConnectionLink({ connect, clock });
  // If the first attempt fails, the link keeps trying, so the rejection is ignored here.
  link.get().catch(() => undefined);
  return link;
}
