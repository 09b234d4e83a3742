import { conflictCodes, operationCodes } from './operation-columns.ts';

/** A statement that a connection prepares at first use, under its name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/**
 * One entry a schema version, applied in order; `homeostat_meta` holds how many were. An entry never changes once
 * released. All tables are in the first schema of the search path, under a prefix of their own.
 *
 * `homeostat_kv` has room for one more version of a row on its page and no index on the revision, so that an update is
 * a HOT one and touches no index. Keys compare by byte, as everywhere else. A delete's `data` in the log is null where it
 * equals `previous`. A log row is written once and read rarely: kept on its page up to 8 KB, it is not compressed.
 * `commit` is the id of the transaction that wrote a row: what became of it is looked up when its answer was lost.
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
];

/** First half of the advisory locks' keys: "hmst". The second half is the schema, so that each can have a store. */
const lockClass = 0x686d7374;
const schemaNumber = 'hashtext(current_schema())';

/** Held for the life of the session: one store a schema. Waits for as long as `lock_timeout`. */
export const lockStore: string = `SELECT pg_advisory_lock(${lockClass}, ${schemaNumber})`;
export const findLockHolder: string = `SELECT pid FROM pg_locks
  WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid::bigint = ${lockClass} AND objid::bigint = (${schemaNumber}::bigint & 4294967295) AND objsubid = 2`;

/** Held until the end of the transaction; not the key of {@link lockStore}, which is to go when stores share a database. */
export const lockMigrations: string = `SELECT pg_advisory_xact_lock(${lockClass + 1}, ${schemaNumber})`;
export const createMeta =
  'CREATE TABLE IF NOT EXISTS homeostat_meta (name text PRIMARY KEY, value text NOT NULL) WITH (fillfactor = 50)';
export const hasMeta = `SELECT to_regclass('homeostat_meta') IS NOT NULL AS found`;
export const getMeta = 'SELECT value FROM homeostat_meta WHERE name = $1';
export const setMeta = `INSERT INTO homeostat_meta (name, value) VALUES ($1, $2)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

export const identifySession = `SELECT pid, backend_start::text AS started, current_setting('server_version_num')::int AS version
  FROM pg_stat_activity WHERE pid = pg_backend_pid()`;
/** Ends a session of ours that the server may not know to be dead; by its start, as numbers are used again. */
export const endSession = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE pid = $1 AND backend_start = $2::timestamptz`;

/** Comes first in a writing transaction: who holds this row decides the next revision. */
export const lockCounter: Statement = {
  name: 'lock_counter',
  text: 'SELECT revision FROM homeostat_counter WHERE id = 1 FOR UPDATE',
};
export const getCounter: Statement = {
  name: 'get_counter',
  text: 'SELECT revision FROM homeostat_counter WHERE id = 1',
};
/** Of a schema: stores beside each other in one database do not hear of each other. */
const channel = `'homeostat_' || to_hex(${schemaNumber})`;
/** Answers the command, in which the channel cannot be an expression. */
export const listenCommand: string = `SELECT 'LISTEN ' || ${channel} AS command`;
export const listCommits = 'SELECT revision, key, commit FROM homeostat_log WHERE revision > $1 ORDER BY revision';

/**
 * A batch in one statement, which begins, and so looks, after the counter is locked. Every part of it sees the state
 * before it: conflicts are decided before anything is written, and only operations without one get a revision and are
 * written. Payloads are cut out of their run of bytes where they are stored. What is notified is the revision alone: a
 * hint carries no data.
 *
 * Joins are nested loops, by index (see the session's settings): nothing here joins two parts by position, which would be
 * quadratic, but for claims that are lost.
 */
function commitText(claims?: { readonly taken: string; readonly conflict: string; readonly parts: string }): string {
  const data = 'CASE WHEN n.length >= 0 THEN substring($7::bytea FROM n.start FOR n.length) END';
  const lost = claims?.conflict ?? '';
  return `WITH input AS (
      SELECT * FROM unnest($1::smallint[], $2::integer[], $3::text[], $4::bigint[], $5::integer[], $6::integer[])
        WITH ORDINALITY AS i (op, kind, key, expect, start, length, position)
    ), ${claims?.taken ?? ''} decided AS (
      SELECT i.*, kv.revision AS previous_revision, kv.data AS previous,
        ${claims ? 't.holder, t.claim' : 'NULL::text AS holder, NULL::bigint AS claim'},
        CASE WHEN i.op = ${operationCodes.create} THEN
               CASE WHEN kv.revision IS NOT NULL THEN ${conflictCodes.exists} ${lost} END
             WHEN kv.revision IS NULL THEN ${conflictCodes.notFound}
             WHEN kv.revision <> i.expect THEN ${conflictCodes.revision} ${lost}
        END AS conflict
      FROM input i
        LEFT JOIN homeostat_kv kv ON kv.kind = i.kind AND kv.key = i.key
        ${claims ? 'LEFT JOIN taken t ON t.position = i.position' : ''}
    ), numbered AS MATERIALIZED (
      SELECT d.*, CASE WHEN conflict IS NULL THEN (SELECT revision FROM homeostat_counter WHERE id = 1)
        + count(*) FILTER (WHERE conflict IS NULL) OVER (ORDER BY position) END AS revision
      FROM decided d
    ), created AS (
      INSERT INTO homeostat_kv (kind, key, revision, data)
        SELECT n.kind, n.key, n.revision, ${data} FROM numbered n
        WHERE n.revision IS NOT NULL AND n.op = ${operationCodes.create}
    ), updated AS (
      UPDATE homeostat_kv kv SET revision = n.revision, data = ${data} FROM numbered n
        WHERE n.revision IS NOT NULL AND n.op = ${operationCodes.update} AND kv.kind = n.kind AND kv.key = n.key
    ), deleted AS (
      DELETE FROM homeostat_kv kv USING numbered n
        WHERE n.revision IS NOT NULL AND n.op = ${operationCodes.delete} AND kv.kind = n.kind AND kv.key = n.key
    ), logged AS (
      INSERT INTO homeostat_log (revision, op, kind, key, data, previous, previous_revision, commit)
        SELECT n.revision, n.op, n.kind, n.key, ${data}, n.previous, n.previous_revision, $8::uuid FROM numbered n
        WHERE n.revision IS NOT NULL
    ), ${claims?.parts ?? ''} counted AS (
      UPDATE homeostat_counter SET revision = last.revision
        FROM (SELECT max(revision) AS revision FROM numbered) last WHERE id = 1 AND last.revision IS NOT NULL
        RETURNING pg_notify(${channel}, last.revision::text)
    )
    SELECT coalesce(revision, conflict) AS code, holder, claim FROM numbered ORDER BY position`;
}

export const commit: Statement = { name: 'commit', text: commitText() };

/** Whether the operation that a claim is of is written. The array is made once, and looked into by position. */
const isWritten = '(SELECT written FROM outcome)[c.position]';

/** $9 to $13 are the claims to add, $14 to $18 those to remove. A holder's own claim is no obstacle. */
export const commitClaims: Statement = {
  name: 'commit_claims',
  text: commitText({
    taken: `added AS (
      SELECT * FROM unnest($9::integer[], $10::integer[], $11::text[], $12::integer[], $13::text[])
        WITH ORDINALITY AS c (position, kind, key, idx, value, claim)
    ), taken AS MATERIALIZED (
      SELECT DISTINCT ON (c.position) c.position, u.key AS holder, c.claim
      FROM added c JOIN homeostat_uniq u ON u.kind = c.kind AND u.idx = c.idx AND u.value = c.value
      WHERE u.key <> c.key ORDER BY c.position, c.claim
    ),`,
    conflict: `WHEN t.position IS NOT NULL THEN ${conflictCodes.unique}`,
    parts: `outcome AS (
      SELECT array_agg(revision IS NOT NULL ORDER BY position) AS written FROM numbered
    ), released AS (
      DELETE FROM homeostat_uniq u
        USING unnest($14::integer[], $15::integer[], $16::text[], $17::integer[], $18::text[])
          AS c (position, kind, key, idx, value)
        WHERE u.kind = c.kind AND u.idx = c.idx AND u.value = c.value AND u.key = c.key AND ${isWritten}
    ), claimed AS (
      INSERT INTO homeostat_uniq (kind, idx, value, key)
        SELECT c.kind, c.idx, c.value, c.key FROM added c WHERE ${isWritten}
        ON CONFLICT (kind, idx, value) DO NOTHING
    ),`,
  }),
};

export const listClaims = 'SELECT idx AS index, value, key FROM homeostat_uniq WHERE kind = $1';
export const dropClaims = `DELETE FROM homeostat_uniq u USING unnest($2::integer[], $3::text[]) AS c (idx, value)
  WHERE u.kind = $1 AND u.idx = c.idx AND u.value = c.value`;
export const setClaims = `INSERT INTO homeostat_uniq (kind, idx, value, key)
  SELECT $1::integer, * FROM unnest($2::integer[], $3::text[], $4::text[])
  ON CONFLICT (kind, idx, value) DO UPDATE SET key = excluded.key`;

export const getNumber = 'SELECT id FROM homeostat_number WHERE name = $1';
export const addNumber = `INSERT INTO homeostat_number (id, name)
  SELECT coalesce(max(id), 0) + 1, $1 FROM homeostat_number RETURNING id`;

/** A loose index scan: one seek a kind. Kinds own their keys' prefixes, so this order makes one order of all keys. */
export const listKinds = `WITH RECURSIVE kinds (kind) AS (
    SELECT min(kind) FROM homeostat_kv
    UNION ALL
    SELECT (SELECT min(kind) FROM homeostat_kv kv WHERE kv.kind > kinds.kind) FROM kinds WHERE kinds.kind IS NOT NULL
  )
  SELECT kind FROM kinds WHERE kind IS NOT NULL
  ORDER BY (SELECT min(key) FROM homeostat_kv kv WHERE kv.kind = kinds.kind)`;
/** At most $3 rows and, beyond the first, $4 bytes; rows of what is over the limit are not read, only their lengths. */
export const scanKind: Statement = {
  name: 'scan_kind',
  text: `SELECT key, revision, data FROM (
      SELECT key, revision, data, octet_length(data) AS length, sum(octet_length(data)) OVER (ORDER BY key) AS total
      FROM (SELECT key, revision, data FROM homeostat_kv WHERE kind = $1 AND key > $2::text ORDER BY key LIMIT $3) rows
    ) sized WHERE total - length < $4 ORDER BY key`,
};

/** One snapshot for the rows and how far history is gone: always a row, if one without a change. */
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
