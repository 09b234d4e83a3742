import { StoreError } from './store-error.ts';

export interface Schema {
  /** One entry for each version, in order. A released entry must not change. */
  readonly migrations: readonly string[];
  /** The schema version of the database, which is the number of migrations that it has had; 0 for a new database. */
  readonly version: number;
  /** The name of the database, for messages. */
  readonly name: string;
}

/** The schema version of a database, and the newest schema version that this program knows. */
export interface SchemaVersions {
  /** The schema version of the database; 0 when the database is new. */
  readonly stored: number;
  readonly known: number;
}

/**
 * Returns the migrations to apply. The caller must have a lock while it applies them. Throws StoreError `newer`, which
 * names both versions, for a database that a newer program has upgraded.
 */
export function pendingMigrations(schema: Schema): readonly string[] {
  checkSchemaVersion(schema);
  return schema.migrations.slice(schema.version);
}

/** Throws StoreError `newer`, which names both versions, for a database that a newer program has upgraded. */
export function checkSchemaVersion({ migrations, version, name }: Schema): void {
  const known = migrations.length;
  if (version <= known) return;
  const message = `${name} has schema version ${version}, this program knows ${known}: update Homeostat`;
  throw new StoreError('newer', message);
}
