import { checkSchemaVersion } from '../schema-version.ts';

/**
 * One entry for each schema version, in order. `homeostat_meta` has the number of applied entries. A released entry
 * must not change. All tables are in the first schema of the search path, and have the prefix `homeostat_`.
 *
 * A page of `homeostat_kv` has room for one more version of a row, and there is no index on the revision. So an update
 * is a HOT update, and changes no index. Keys are compared by byte, as everywhere else. For a deletion, `data` in the
 * log is the last state of the object, or null when it equals `previous`. A row of the log is written once and read
 * rarely, so a row of up to 8 KB stays on its page, uncompressed. `commit` is the id of the transaction that wrote a
 * row, for the look-up of an outcome after a lost response. `homeostat_indexes` has a row for each kind whose unique
 * indexes were ever set; any other kind has no unique indexes, and the generation 0.
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
 * Checks the schema version in `rows`, the result of the statement that reads it. Without a row, the database has no
 * tables yet. Throws StoreError `newer` for the version of a newer program.
 */
export function checkSchemaRow(rows: readonly { readonly version: number }[], name: string): void {
  checkSchemaVersion({ migrations, version: rows.at(0)?.version ?? 0, name });
}

/**
 * Creates the table `homeostat_meta`, which holds the schema version. The first migration already writes to this table.
 */
export const createMeta =
  'CREATE TABLE IF NOT EXISTS homeostat_meta (name text PRIMARY KEY, value text NOT NULL) WITH (fillfactor = 50)';
