import { StoreError } from './store-error.ts';

export interface Schema {
  /** One entry per version, applied in order. An entry never changes once released. */
  readonly migrations: readonly string[];
  /** The number of versions that the database has; 0 for a new one. */
  readonly version: number;
  /** The database's name in messages. */
  readonly name: string;
}

/** The version of a database's tables, and the version of this program. */
export interface SchemaVersions {
  /** 0 when the database is new. */
  readonly stored: number;
  readonly known: number;
}

/** The migrations to apply, in one transaction and under a lock. Throws StoreError `newer`, naming both versions. */
export function pendingMigrations(schema: Schema): readonly string[] {
  checkSchemaVersion(schema);
  return schema.migrations.slice(schema.version);
}

/** Throws StoreError `newer`, naming both versions, for a database that a newer program has upgraded. */
export function checkSchemaVersion({ migrations, version, name }: Schema): void {
  const known = migrations.length;
  if (version <= known) return;
  throw new StoreError('newer', `${name} has schema version ${version}, this program knows ${known}: update it`);
}
