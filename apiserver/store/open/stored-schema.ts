import type { Clock } from '@homeostat/controller-runtime/api';

import { parseDatabaseUrl } from './database-url.ts';
import { loadDriver } from './load-driver.ts';
import type { SchemaVersions } from '../schema-version.ts';

/**
 * Returns the schema version of a database without changing it: to open a store would upgrade the database. A database
 * in memory is always new. Rejects with RangeError when the URL is invalid, and with StoreError when the version cannot
 * be determined.
 */
export async function storedSchema(url: string, clock: Clock): Promise<SchemaVersions> {
  const location = parseDatabaseUrl(url);
  if (location.engine === 'postgres') {
    const { postgresSchema } = await import('../postgres/postgres-session.ts');
    return postgresSchema(location.url);
  }
  if (location.engine === 'mysql') {
    await loadDriver('mysql', () => import('mysql2'));
    const { mysqlSchema } = await import('../mysql/mysql-migrator.ts');
    return mysqlSchema(location.database, clock);
  }
  if (location.engine === 'etcd') {
    const { etcdSchema } = await loadDriver('etcd', () => import('../etcd/etcd-schema.ts'));
    return etcdSchema(location.database, clock);
  }
  if (location.engine === 'memory') return { stored: 0, known: 0 };
  const { sqliteSchema } = await import('../sqlite/sqlite-schema.ts');
  return sqliteSchema(location.path);
}
