import type { Clock } from '@homeostat/controller-runtime/api';
import { silentLogger } from '@homeostat/controller-runtime/api';

import { EtcdLayout } from './etcd-layout.ts';
import { EtcdLink } from './etcd-link.ts';
import { type EtcdDatabase, nameOf } from './etcd-url.ts';
import { parseHead, schemaVersion } from './head.ts';
import { foundIn, get } from './transactions.ts';
import type { SchemaVersions } from '../schema-version.ts';

/**
 * Returns the schema version of a database, without changing it. Rejects with StoreError; the code is `newer` for a
 * version that this program does not know.
 */
export async function etcdSchema(database: EtcdDatabase, clock: Clock): Promise<SchemaVersions> {
  const { head } = new EtcdLayout(database.prefix);
  const link = new EtcdLink({ database, clock, logger: silentLogger, prepare: async () => undefined });
  try {
    await link.open();
    const { responses } = await link.repeat((connection) => connection.call('KV/Txn', { success: [get(head)] }));
    const bytes = foundIn(responses).get(head.toString());
    const stored = bytes === undefined ? 0 : parseHead(bytes, nameOf(database)).schema;
    return { stored, known: schemaVersion };
  } finally {
    await link.close();
  }
}
