import type { ApiServer } from '@homeostat/apiserver';
import { createReporter, systemClock } from '@homeostat/controller-runtime';
import type { Reporter } from '@homeostat/controller-runtime';
import type { ApiObject, Clock, Logger } from '@homeostat/controller-runtime/api';

/**
 * Returns the reporter of a server's controllers. Its records do not contain values of objects whose kinds are
 * encrypted in the database.
 */
export function serverReporter(
  server: Pick<ApiServer, 'client' | 'isEncrypted'>,
  { logger, clock = systemClock }: { readonly logger: Logger; readonly clock?: Clock },
): Reporter {
  const isEncrypted = ({ apiVersion, kind }: ApiObject): boolean => {
    const [version = '', group = ''] = apiVersion.split('/').reverse();
    return server.isEncrypted({ group, version, kind });
  };
  return createReporter({ client: server.client, clock, logger, isConfidential: isEncrypted });
}
