/** A statement that a connection prepares, under this name, when it is first used. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/**
 * The first half of the keys of advisory locks: "hmst". The second half is a hash of the schema, so that each schema
 * has its own locks.
 */
const lockClass = 0x686d7374;
const schemaNumber = 'hashtext(current_schema())';

const isLockHere = `locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/**
 * Each store holds this lock in shared mode until its writing session ends. A store that needs the database exclusively
 * holds the lock in exclusive mode.
 */
export const shareStore: string = `SELECT pg_advisory_lock_shared(${lockClass}, ${schemaNumber})`;
export const ownStore: string = `SELECT pg_advisory_lock(${lockClass}, ${schemaNumber})`;
export const findLockHolders: string = `SELECT pid FROM pg_locks WHERE ${isLockHere} AND granted
  AND classid::bigint = ${lockClass} AND objid::bigint = (${schemaNumber}::bigint & 4294967295) AND objsubid = 2
  ORDER BY pid`;

/**
 * The key of the lock of one store, whose id is $1. Earlier sessions of the store may still exist and have this lock.
 */
const sessionLock = 'hashtextextended($1, 0)';
export const endSessions: string = `SELECT pg_terminate_backend(pid) FROM pg_locks
  WHERE ${isLockHere} AND ((classid::bigint << 32) | objid::bigint) = ${sessionLock} AND objsubid = 1`;
export const lockSession: string = `SELECT pg_advisory_lock(${sessionLock})`;

/** Takes the lock of migrations, which the server releases at the end of the transaction. */
export const lockMigrations: string = `SELECT pg_advisory_xact_lock(${lockClass + 1}, ${schemaNumber})`;
export const hasMeta = `SELECT to_regclass('homeostat_meta') IS NOT NULL AS found`;
export const getSchema = `SELECT value::integer AS version FROM homeostat_meta WHERE name = 'schema'`;
/**
 * Reads the schema version, and takes a shared lock on its row. A migration takes the exclusive lock of
 * {@link ownSchema}. So a migration waits for transactions with the shared lock, and these transactions wait for a
 * running migration.
 */
export const shareSchema: string = `${getSchema} FOR SHARE`;
export const ownSchema: string = `${getSchema} FOR UPDATE`;
export const setMeta = `INSERT INTO homeostat_meta (name, value) VALUES ($1, $2)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

export const getServerVersion = `SELECT current_setting('server_version_num')::int AS version`;

/** Locks the row of the counter. The session that has locked this row assigns the next revisions. */
export const lockCounter: Statement = {
  name: 'lock_counter',
  text: 'SELECT revision FROM homeostat_counter WHERE id = 1 FOR UPDATE',
};
export const getCounter: Statement = {
  name: 'get_counter',
  text: 'SELECT revision FROM homeostat_counter WHERE id = 1',
};
/**
 * The channel of notifications. Each schema has its own channel, so that stores in different schemas of one database do
 * not receive each other's notifications.
 */
export const channel: string = `'homeostat_' || to_hex(${schemaNumber})`;
/** Returns the text of the LISTEN command, because the channel in a LISTEN command cannot be an expression. */
export const listenCommand: string = `SELECT 'LISTEN ' || ${channel} AS command`;
/**
 * Returns the revision, compactRevision and epoch of the database, and the transaction that wrote revision $1, from one
 * snapshot.
 */
export const findHistory = `SELECT c.revision, l.commit,
    (SELECT value FROM homeostat_meta WHERE name = 'compactRevision')::bigint AS "compactRevision",
    (SELECT value FROM homeostat_meta WHERE name = 'epoch') AS epoch
  FROM homeostat_counter c LEFT JOIN homeostat_log l ON l.revision = $1 WHERE c.id = 1`;
/** Returns the writes of transaction $2 after revision $1, and compactRevision, from one snapshot. */
export const findCommit = `SELECT m.value::bigint AS compacted, l.key, l.revision
  FROM homeostat_meta m LEFT JOIN homeostat_log l ON l.revision > $1 AND l.commit = $2
  WHERE m.name = 'compactRevision' ORDER BY l.revision`;
/**
 * Makes a transaction that must complete wait longer for locks. The time is longer than the 10 s after which PostgreSQL
 * ends a stalled session, because a stalled session may have the lock of the counter.
 */
export const waitLonger = `SET LOCAL lock_timeout = '12s'`;

export const hasNoObjects = 'SELECT NOT EXISTS (SELECT FROM homeostat_kv) AS empty';
export const setCounter = 'UPDATE homeostat_counter SET revision = $1 WHERE id = 1';
export const setEpoch = `UPDATE homeostat_meta SET value = gen_random_uuid()::text WHERE name = 'epoch'`;

/**
 * Returns true when objects of kind $1 have changed after revision $2, or when changes after revision $2 are compacted.
 */
export const isBehind = `SELECT value::bigint > $2 OR EXISTS (SELECT FROM homeostat_log WHERE revision > $2 AND kind = $1)
    AS behind
  FROM homeostat_meta WHERE name = 'compactRevision'`;
export const getIndexes = 'SELECT generation, indexes FROM homeostat_indexes WHERE kind = $1';
export const setIndexes = `INSERT INTO homeostat_indexes (kind, generation, indexes) VALUES ($1, $2, $3)
  ON CONFLICT (kind) DO UPDATE SET generation = excluded.generation, indexes = excluded.indexes`;
/**
 * Returns the revision, the unique indexes and the claims of kind $1, from one snapshot. There is always a row; if the
 * kind has no claims, this row has nulls in the columns of the claim.
 */
export const listKindClaims = `SELECT c.revision, i.generation, i.indexes, u.idx AS index, u.value, u.key
  FROM homeostat_counter c LEFT JOIN homeostat_indexes i ON i.kind = $1 LEFT JOIN homeostat_uniq u ON u.kind = $1
  WHERE c.id = 1`;
export const listClaims = 'SELECT idx AS index, value, key FROM homeostat_uniq WHERE kind = $1';
export const dropClaims = `DELETE FROM homeostat_uniq u USING unnest($2::integer[], $3::text[]) AS c (idx, value)
  WHERE u.kind = $1 AND u.idx = c.idx AND u.value = c.value`;
export const setClaims = `INSERT INTO homeostat_uniq (kind, idx, value, key)
  SELECT $1::integer, * FROM unnest($2::integer[], $3::text[], $4::text[])
  ON CONFLICT (kind, idx, value) DO UPDATE SET key = excluded.key`;

export const getNumber = 'SELECT id FROM homeostat_number WHERE name = $1';
export const listNames = 'SELECT name FROM homeostat_number WHERE starts_with(name, $1)';
export const addNumber = `INSERT INTO homeostat_number (id, name)
  SELECT coalesce(max(id), 0) + 1, $1 FROM homeostat_number RETURNING id`;

/**
 * Lists the kinds with a loose index scan: one seek for each kind. The kinds are in the order of their first keys. Each
 * kind has its own key prefix, so this is also the order of all keys.
 */
export const listKinds = `WITH RECURSIVE kinds (kind) AS (
    SELECT min(kind) FROM homeostat_kv
    UNION ALL
    SELECT (SELECT min(kind) FROM homeostat_kv kv WHERE kv.kind > kinds.kind) FROM kinds WHERE kinds.kind IS NOT NULL
  )
  SELECT kind FROM kinds WHERE kind IS NOT NULL
  ORDER BY (SELECT min(key) FROM homeostat_kv kv WHERE kv.kind = kinds.kind)`;
/**
 * Returns at most $3 rows of a kind. Ends at the row that reaches $4 bytes; of the rows after it, only the lengths are
 * read.
 */
export const scanKind: Statement = {
  name: 'scan_kind',
  text: `SELECT key, revision, data FROM (
      SELECT key, revision, data, octet_length(data) AS length, sum(octet_length(data)) OVER (ORDER BY key) AS total
      FROM (SELECT key, revision, data FROM homeostat_kv WHERE kind = $1 AND key > $2::text ORDER BY key LIMIT $3) rows
    ) sized WHERE total - length < $4 ORDER BY key`,
};

/**
 * Returns changes and compactRevision, from one snapshot. There is always a row; if there are no changes, this row has
 * nulls in the columns of the change.
 */
export const listChanges: Statement = {
  name: 'list_changes',
  text: `SELECT m.value::bigint AS compacted, l.revision, l.op, l.kind, l.key, coalesce(l.data, l.previous) AS data,
      l.previous, l.previous_revision
    FROM homeostat_meta m LEFT JOIN (
      SELECT *, sum(length) OVER (ORDER BY revision) - length AS before FROM (
        SELECT *, octet_length(coalesce(data, previous)) + coalesce(octet_length(previous), 0) AS length
        FROM homeostat_log WHERE revision > $1 ORDER BY revision LIMIT $2
      ) rows
    ) l ON l.before < $3
    WHERE m.name = 'compactRevision' ORDER BY l.revision`,
};

export const getCompactRevision = `SELECT value::bigint AS revision FROM homeostat_meta
  WHERE name = 'compactRevision' FOR UPDATE`;
export const compactBound =
  'SELECT revision FROM homeostat_log WHERE revision <= $1 ORDER BY revision LIMIT 1 OFFSET $2';
export const deleteChanges = `WITH gone AS (DELETE FROM homeostat_log WHERE revision <= $1 RETURNING revision)
  SELECT count(*) AS count FROM gone`;
