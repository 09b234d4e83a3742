import { existsSync } from 'node:fs';

import { openDatabase, rowOf, storeErrorFrom } from './sqlite-binding.ts';
import type { SqlDatabase } from './sqlite-binding.ts';
import { explained } from './sqlite-connection.ts';
import * as sql from './sqlite-statements.ts';
import { countTables, migrations } from './sqlite-tables.ts';
import { StoreError } from '../store-error.ts';
import type { SchemaVersions } from '../schema-version.ts';

/**
 * Returns the schema versions of a file and of this program, without creating or changing the file. Rejects with
 * StoreError: `locked` while a store has the file open, `corrupt` when SQLite finds damage or the file has tables of
 * another program.
 */
export async function sqliteSchema(path: string): Promise<SchemaVersions> {
  const known = migrations.length;
  if (!existsSync(path)) return { stored: 0, known };
  let database: SqlDatabase | undefined;
  try {
    database = await openDatabase(path);
    const found = rowOf(database.prepare<{ readonly tables: number; readonly meta: number }>(countTables));
    if (found.tables > 0 && found.meta === 0)
      throw new StoreError('corrupt', `${path} is a database of another program`);
    const row = found.meta === 0 ? undefined : database.prepare<{ readonly value: number }>(sql.getMeta).get('schema');
    const { quick_check: health } = rowOf(database.prepare<{ readonly quick_check: string }>(sql.findDamage));
    if (health !== 'ok') throw new StoreError('corrupt', `${path} is damaged: ${health}`);
    return { stored: row?.value ?? 0, known };
  } catch (error) {
    throw explained(storeErrorFrom(error), path);
  } finally {
    database?.close();
  }
}
