import { checkSchemaVersion } from '../schema-version.ts';

/**
 * One entry per schema version, applied in order; `homeostat_meta` holds the number of applied entries. An entry never
 * changes once released. All tables are in the first schema of the search path, with a prefix of their own.
 *
 * `homeostat_kv` has room for one more version of a row on its page and no index on the revision, so that an update is
 * a HOT one and touches no index. Keys compare by byte, as everywhere else. A delete's `data` in the log is null when
 * it equals `previous`. A log row is written once and read rarely: up to 8 KB it is kept on its page, uncompressed.
 * `commit` is the id of the transaction that wrote a row, for looking up the outcome after a lost response.
 * `homeostat_indexes` has a row per kind whose unique indexes were ever set; any other kind has none, in generation 0.
 */
export const migrations: readonly string[] = [
  `CREATE TABLE homeostat_kv (
     kind integer NOT NULL,
     key text COLLATE "C" NOT NULL,
     revision bigint NOT NULL,
     data bytea NOT NULL,
     PRIMARY KEY (kind, key)
   ) WITH (fillfactor = 70);
   CREATE TABLE homeostat_log (
     revision bigint PRIMARY KEY,
     op smallint NOT NULL,
     kind integer NOT NULL,
     key text COLLATE "C" NOT NULL,
     data bytea,
     previous bytea,
     previous_revision bigint,
     commit uuid NOT NULL
   ) WITH (toast_tuple_target = 8160);
   CREATE TABLE homeostat_uniq (
     kind integer NOT NULL,
     idx integer NOT NULL,
     value text COLLATE "C" NOT NULL,
     key text COLLATE "C" NOT NULL,
     PRIMARY KEY (kind, idx, value)
   );
   CREATE TABLE homeostat_number (id integer PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE);
   CREATE TABLE homeostat_counter (id integer PRIMARY KEY, revision bigint NOT NULL) WITH (fillfactor = 10);
   INSERT INTO homeostat_counter (id, revision) VALUES (1, 0);
   INSERT INTO homeostat_meta (name, value) VALUES ('compactRevision', '0'), ('epoch', gen_random_uuid()::text);`,
  `CREATE TABLE homeostat_indexes (kind integer PRIMARY KEY, generation bigint NOT NULL, indexes text NOT NULL);`,
];

/**
 * Checks the version in `rows`, the result of a statement that reads it; without a row, the database has no version.
 * Throws StoreError `newer` for that of a newer program.
 */
export function checkSchemaRow(rows: readonly { readonly version: number }[], name: string): void {
  checkSchemaVersion({ migrations, version: rows.at(0)?.version ?? 0, name });
}

/** Runs before the first migration: `homeostat_meta` holds the schema version. */
export const createMeta =
  'CREATE TABLE IF NOT EXISTS homeostat_meta (name text PRIMARY KEY, value text NOT NULL) WITH (fillfactor = 50)';
