/**
 * An expression for a UUID of version 4 (RFC 9562). SQLite computes it, so that a database and its epoch are created in
 * one transaction.
 */
const randomUuid = `lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-'
  || substr('89AB', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))`;

/**
 * One entry for each schema version, in order. `meta` has the number of applied entries. A released entry must not
 * change.
 *
 * The tables with blobs have rowids: with blobs of 1 KB, `WITHOUT ROWID` was half as fast, and the file had 3.3 times
 * the size. For a deletion, the data are the last state of the object, or null when it equals the previous state.
 * `uniq.value` is `=` and the value, or `#` and its hash.
 *
 * `history` has both the objects and their changes: a write appends one row, so data are stored only once. The table
 * needs no index of keys, because only one process has the file open, and this process knows the present row of each
 * object. Such an index would cost as much as the rows themselves. `previous` is the revision of the state that a write
 * replaced. The compaction of a write deletes the row of the replaced state; the compaction of a deletion also deletes
 * the row of the deletion.
 *
 * `present` is a copy of what this process knows about present rows, so that a start need not read all rows of
 * `history`. For each kind, the copy has the hashes of the keys of its objects, and the revisions of the objects. A row
 * of `meta`, also named `present`, has the revision at which the copy was made, the secret with which keys are hashed,
 * and a digest by which a start detects a damaged copy. The start reads later changes from `history`. `gone` has the
 * revisions in the copy whose rows of `history` were deleted by compaction.
 *
 * `kept` has data that a start would otherwise compute from rows of `history`. The data of a kind are in parts, each
 * with its last revision. A part stays valid, because the data of a revision never change. Only a new history may
 * assign the same revisions again, so all parts are deleted when a new history starts.
 */
export const migrations: readonly string[] = [
  `CREATE TABLE kv (
     id INTEGER PRIMARY KEY,
     kind INTEGER NOT NULL,
     key TEXT NOT NULL,
     revision INTEGER NOT NULL,
     data BLOB NOT NULL,
     UNIQUE (kind, key)
   );
   CREATE TABLE log (
     revision INTEGER PRIMARY KEY,
     op INTEGER NOT NULL,
     kind INTEGER NOT NULL,
     key TEXT NOT NULL,
     data BLOB,
     previous BLOB,
     previous_revision INTEGER
   );
   CREATE TABLE uniq (
     kind INTEGER NOT NULL,
     idx INTEGER NOT NULL,
     value TEXT NOT NULL,
     key TEXT NOT NULL,
     PRIMARY KEY (kind, idx, value)
   ) WITHOUT ROWID;
   CREATE TABLE number (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
   CREATE TABLE counter (id INTEGER PRIMARY KEY, revision INTEGER NOT NULL);
   INSERT INTO counter (id, revision) VALUES (1, 0);
   INSERT INTO meta (name, value) VALUES ('compactRevision', 0), ('epoch', ${randomUuid});`,
  // The migration first writes the present objects in the order of their revisions, so that rows are appended. For this
  // order, it sorts only ids and revisions. Then it writes the changes of the table `log` that `history` does not have
  // yet. Last, it writes the states that the objects had before their first change in `log`.
  `CREATE TABLE history (
     revision INTEGER PRIMARY KEY,
     op INTEGER NOT NULL,
     kind INTEGER NOT NULL,
     previous INTEGER,
     key TEXT NOT NULL,
     data BLOB,
     CHECK (op = 2 OR data IS NOT NULL)
   );
   WITH ordered AS MATERIALIZED (SELECT id, revision FROM kv ORDER BY revision)
   INSERT INTO history
     SELECT kv.revision, coalesce(log.op, 0), kv.kind, log.previous_revision, kv.key, kv.data
     FROM ordered CROSS JOIN kv ON kv.id = ordered.id LEFT JOIN log ON log.revision = ordered.revision;
   INSERT OR IGNORE INTO history SELECT revision, op, kind, previous_revision, key, data FROM log;
   INSERT OR IGNORE INTO history
     SELECT previous_revision, 0, kind, NULL, key, previous FROM log WHERE previous_revision IS NOT NULL;
   UPDATE meta SET value = max(value, (SELECT revision FROM counter)) WHERE name = 'compactRevision'
     AND (SELECT revision FROM counter) > (SELECT coalesce(max(revision), 0) FROM history);
   DROP TABLE kv;
   DROP TABLE log;
   DROP TABLE counter;`,
  `CREATE TABLE present (kind INTEGER PRIMARY KEY, hashes BLOB NOT NULL, revisions BLOB NOT NULL);
   CREATE TABLE gone (revision INTEGER PRIMARY KEY);`,
  `CREATE TABLE kept (kind INTEGER NOT NULL, last INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (kind, last));`,
];

/** Creates the table `meta`, which holds the schema version. The first migration already writes to this table. */
export const createMeta = 'CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID';

/**
 * Returns the number of tables in the column `tables`. The column `meta` is 1 if the table `meta` exists, otherwise 0.
 */
export const countTables = `SELECT count(*) AS tables, coalesce(sum(name = 'meta'), 0) AS meta
  FROM sqlite_master WHERE type = 'table'`;

export const setEpoch: string = `UPDATE meta SET value = ${randomUuid} WHERE name = 'epoch'`;
