import type { BatchNeeds, BatchPlan, ClaimRow, PlannedWrite } from '../server/batch-plan.ts';
import { packRows } from './statement-packing.ts';
import type { PageLimits } from '../server/pages.ts';

/**
 * The statements for MySQL 8 and MariaDB 10.6. All values in their text are integers or hexadecimal literals, so
 * nothing has to be escaped, whatever `sql_mode` and character set the server has. The bytes of objects are sent as
 * parameters of {@link insertLog}: if they were hexadecimal literals, the server would take three times as long to
 * parse them as to write them.
 */

/**
 * One entry for each schema version, in order. `meta` has the number of applied entries. A released entry must not
 * change. It must be possible to repeat an entry: every DDL statement commits, so a crash can leave an entry half done.
 *
 * `kv` is clustered by kind and key, which is the order of a scan. `size` is the number of bytes of a row, so that the
 * bytes of a page can be counted without reading them. For a deletion, `log.data` is the last state of the object, or
 * null when it equals `log.previous`. `uniq.value` is `=` and the value, or `#` and its hash. `log.batch` is the id of
 * the batch, with which an unknown outcome is looked up. `kind_indexes.indexes` has the numbers of the unique indexes
 * of a kind, separated by commas.
 */
export const migrations: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS kv (
     kind INT UNSIGNED NOT NULL,
     object_key VARBINARY(700) NOT NULL,
     revision BIGINT UNSIGNED NOT NULL,
     size INT UNSIGNED NOT NULL,
     data MEDIUMBLOB NOT NULL,
     PRIMARY KEY (kind, object_key)
   ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
   CREATE TABLE IF NOT EXISTS log (
     revision BIGINT UNSIGNED NOT NULL PRIMARY KEY,
     op TINYINT UNSIGNED NOT NULL,
     kind INT UNSIGNED NOT NULL,
     object_key VARBINARY(700) NOT NULL,
     batch BINARY(16) NOT NULL,
     size INT UNSIGNED NOT NULL,
     data MEDIUMBLOB,
     previous MEDIUMBLOB,
     previous_revision BIGINT UNSIGNED
   ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
   CREATE TABLE IF NOT EXISTS uniq (
     kind INT UNSIGNED NOT NULL,
     idx INT UNSIGNED NOT NULL,
     value VARBINARY(700) NOT NULL,
     object_key VARBINARY(700) NOT NULL,
     PRIMARY KEY (kind, idx, value)
   ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
   CREATE TABLE IF NOT EXISTS number (
     id INT UNSIGNED NOT NULL PRIMARY KEY,
     name VARBINARY(700) NOT NULL UNIQUE
   ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
   CREATE TABLE IF NOT EXISTS counter (id TINYINT UNSIGNED NOT NULL PRIMARY KEY, revision BIGINT UNSIGNED NOT NULL)
     ENGINE = InnoDB;
   INSERT IGNORE INTO counter (id, revision) VALUES (1, 0);
   INSERT IGNORE INTO meta (name, value) VALUES ('compactRevision', '0')`,
  `CREATE TABLE IF NOT EXISTS kind_indexes (
     kind INT UNSIGNED NOT NULL PRIMARY KEY,
     generation INT UNSIGNED NOT NULL,
     indexes BLOB NOT NULL
   ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
];

/** Creates the table `meta`, which holds the schema version. The first migration already writes to this table. */
export const createMeta: string = `CREATE TABLE IF NOT EXISTS meta
  (name VARBINARY(64) NOT NULL PRIMARY KEY, value VARBINARY(255) NOT NULL) ENGINE = InnoDB`;
export const listTables = `SELECT LOWER(table_name) FROM information_schema.tables WHERE table_schema = DATABASE()`;

export const begin = 'START TRANSACTION';
export const commit = 'COMMIT';
export const rollback = 'ROLLBACK';

export const getCounter = 'SELECT revision FROM counter WHERE id = 1';
/** Locks the counter. The session with this lock is the only writer until its transaction ends. */
export const lockCounter: string = `${getCounter} FOR UPDATE`;
export const setCounter = (revision: number): string => `UPDATE counter SET revision = ${int(revision)} WHERE id = 1`;

/**
 * Returns the schema version of the database; during an upgrade, the version to which it is upgraded. MySQL commits
 * each step of a migration separately. Older programs read the new version, so they do not write between two steps.
 */
export const getSchema: string = `SELECT MAX(CAST(value AS UNSIGNED)) FROM meta WHERE name IN (${hex('schema')}, ${hex('upgrading')})`;

/**
 * Returns five values from the same point in time: the counter, the epoch, compactRevision, the batch that wrote a
 * revision (in hexadecimal), and the schema version. This is a separate statement: as a part of {@link lockCounter}, it
 * could read the other values before it has the lock.
 */
export const lookAt = (revision: number): string =>
  `SELECT revision, (${getMeta('epoch')}), (${getMeta('compactRevision')}), (${getBatch(revision)}), (${getSchema}) FROM counter WHERE id = 1`;

export const getMeta = (name: string): string => `SELECT value FROM meta WHERE name = ${hex(name)}`;
export const setMeta = (name: string, value: string): string =>
  `INSERT INTO meta (name, value) VALUES (${hex(name)}, ${hex(value)}) ON DUPLICATE KEY UPDATE value = ${hex(value)}`;
/** Adds a value to `meta`, unless there is already a value with this name. */
export const addMeta = (name: string, value: string): string =>
  `INSERT IGNORE INTO meta (name, value) VALUES (${hex(name)}, ${hex(value)})`;

export const getBatch = (revision: number): string => `SELECT HEX(batch) FROM log WHERE revision = ${int(revision)}`;

/**
 * Returns a query for the generations of the unique indexes of kinds. Its columns are `kind, generation`. It has no row
 * for a kind whose unique indexes were never set.
 */
export const findGenerations = (kinds: readonly number[]): string[] =>
  kinds.length === 0 ? [] : [`SELECT kind, generation FROM kind_indexes WHERE kind IN (${kinds.map(int).join(', ')})`];

/**
 * The maximum number of values in one IN list. With more than 200 values, the server plans the query with statistics
 * instead of index dives. With more than 999, MariaDB turns the list into a table.
 */
const maxListed = 150;

/** Returns queries for the stored objects that a batch needs to know. Their columns are `object_key, revision`. */
export function findRows({ keys }: BatchNeeds): string[] {
  return [...keys].flatMap(([kind, ofKind]) =>
    listsOf(ofKind).map(
      (list) => `SELECT object_key, revision FROM kv WHERE kind = ${int(kind)} AND object_key IN (${list})`,
    ),
  );
}

/**
 * Returns queries for the stored claims with the same kind, index and value as one of `claims`. The stored claims may
 * belong to any object. The columns are `kind, idx, value, object_key`.
 */
export function findClaims(claims: readonly ClaimRow[]): string[] {
  return byIndex(claims).map((where) => `SELECT kind, idx, value, object_key FROM uniq WHERE ${where}`);
}

export const insertLog = (rows: number): string =>
  `INSERT INTO log (revision, op, kind, object_key, batch, size, data) VALUES ${repeated('(?, ?, ?, ?, ?, ?, ?)', rows)}`;

const joinedLog = 'log STRAIGHT_JOIN kv ON kv.kind = log.kind AND kv.object_key = log.object_key';

/**
 * Updates the objects from the new rows of the log. So the bytes of an object are sent to the database only once, and
 * the database never sends the previous bytes.
 */
export function applyLog(writes: readonly PlannedWrite[]): string[] {
  const [first, last] = [writes[0], writes.at(-1)];
  if (!first || !last) return [];
  const isNew = `log.revision BETWEEN ${int(first.revision)} AND ${int(last.revision)}`;
  const has = (op: string): boolean => writes.some(({ operation }) => operation.op === op);
  return [
    ...(has('update') || has('delete')
      ? [
          `UPDATE ${joinedLog} SET log.previous = kv.data, log.previous_revision = kv.revision,
             log.size = log.size + kv.size WHERE ${isNew} AND log.op <> 0`,
        ]
      : []),
    // Existing rows are not changed with an UPDATE and a join, which would first copy their bytes to a temporary table.
    ...(has('create') || has('update')
      ? [
          `INSERT INTO kv (kind, object_key, revision, size, data)
             SELECT log.kind, log.object_key, log.revision, OCTET_LENGTH(log.data), log.data
             FROM log WHERE ${isNew} AND log.op <> 2
             ON DUPLICATE KEY UPDATE revision = log.revision, size = OCTET_LENGTH(log.data), data = log.data`,
        ]
      : []),
    ...(has('delete') ? [`DELETE kv FROM ${joinedLog} WHERE ${isNew} AND log.op = 2`] : []),
  ];
}

/** Drops and takes claims. All claims are dropped first, because a claim that changes its holder is in both lists. */
export function changeClaims({ dropped, taken }: Pick<BatchPlan, 'dropped' | 'taken'>): string[] {
  const deletes = byIndex(dropped).map((where) => `DELETE FROM uniq WHERE ${where}`);
  const inserts = packRows(taken, { maxRows: 200, maxBytes: Infinity, sizeOf: () => 0 }).map((rows) => {
    const values = rows.map((row) => `(${int(row.kind)}, ${int(row.index)}, ${hex(row.value)}, ${hex(row.key)})`);
    return `INSERT INTO uniq (kind, idx, value, object_key) VALUES ${values.join(', ')}`;
  });
  return [...deletes, ...inserts];
}

export const claimsOfKind = (kind: number): string =>
  `SELECT idx, value, object_key FROM uniq WHERE kind = ${int(kind)}`;

/**
 * Returns the columns `revision, generation, indexes, idx, value, object_key`, all from one snapshot. There is always a
 * row; if the kind has no claims, this row has nulls in the columns of the claim.
 */
export const listKindClaims = (
  kind: number,
): string => `SELECT c.revision, i.generation, i.indexes, u.idx, u.value, u.object_key
  FROM counter c LEFT JOIN kind_indexes i ON i.kind = ${int(kind)} LEFT JOIN uniq u ON u.kind = ${int(kind)} WHERE c.id = 1`;

/** Reads the generation and the numbers of a kind's unique indexes. Returns the columns `generation, indexes`. */
export const getIndexes = (kind: number): string =>
  `SELECT generation, indexes FROM kind_indexes WHERE kind = ${int(kind)}`;
export function setIndexes(kind: number, generation: number, indexes: string): string {
  return `REPLACE INTO kind_indexes (kind, generation, indexes) VALUES (${int(kind)}, ${int(generation)}, ${hex(indexes)})`;
}
export const changedAfter = (kind: number, revision: number): string =>
  `SELECT revision FROM log WHERE revision > ${int(revision)} AND kind = ${int(kind)} LIMIT 1`;

export const findAnyRow = 'SELECT kind FROM kv LIMIT 1';
export const dropLog = 'DELETE FROM log';

export const getNumber = (name: string): string => `SELECT id FROM number WHERE name = ${hex(name)}`;
export const listNames = (prefix: string): string =>
  `SELECT name FROM number WHERE LEFT(name, ${prefix.length}) = ${hex(prefix)}`;
export const addNumber = (name: string): string =>
  `INSERT INTO number (id, name) SELECT COALESCE(MAX(id), 0) + 1, ${hex(name)} FROM number`;

/** Lists the kinds with a loose index scan: one seek for each kind. */
export const listKinds = 'SELECT kind, MIN(object_key) FROM kv GROUP BY kind';

/**
 * Returns the statement that reads a page of objects. Each row has the columns `object_key, revision, data`, and the
 * number of bytes of the page up to and including this row.
 */
export function scanKind(kind: number, after: string, { maxRows, maxBytes }: PageLimits): string {
  return `SELECT kv.object_key, kv.revision, kv.data, sized.running FROM (
      SELECT object_key, size, SUM(size) OVER (ORDER BY object_key ROWS UNBOUNDED PRECEDING) AS running FROM (
        SELECT object_key, size FROM kv WHERE kind = ${int(kind)} AND object_key > ${hex(after)}
        ORDER BY object_key LIMIT ${int(maxRows)}) AS page
    ) AS sized STRAIGHT_JOIN kv ON kv.kind = ${int(kind)} AND kv.object_key = sized.object_key
    WHERE sized.running - sized.size < ${int(maxBytes)} ORDER BY kv.object_key`;
}

/** Stores the revision counter in the variable `@counted`, which {@link listChanges} reads afterwards. */
export const noteCounter: string = `${getCounter} INTO @counted`;

/**
 * Returns a page of changes: the columns of a change, the id of its batch, and the bytes of the page so far. Leaves out
 * changes after the revision in `@counted`, which {@link noteCounter} has set. MariaDB reads running commits without a
 * lock, so a statement may see a commit, but not the commit before it. However, it sees every commit that an earlier
 * statement has seen, and all commits before that.
 */
export function listChanges(after: number, { maxRows, maxBytes }: PageLimits): string {
  return `SELECT log.revision, op, kind, object_key, data, previous, previous_revision, HEX(batch), sized.running FROM (
      SELECT revision, size, SUM(size) OVER (ORDER BY revision ROWS UNBOUNDED PRECEDING) AS running FROM (
        SELECT revision, size FROM log WHERE revision > ${int(after)} AND revision <= @counted
        ORDER BY revision LIMIT ${int(maxRows)}) AS page
    ) AS sized STRAIGHT_JOIN log ON log.revision = sized.revision
    WHERE sized.running - sized.size < ${int(maxBytes)} ORDER BY log.revision`;
}

export const compactBound = (upTo: number, maxRows: number): string =>
  `SELECT revision FROM log WHERE revision <= ${int(upTo)} ORDER BY revision LIMIT 1 OFFSET ${int(maxRows - 1)}`;
export const deleteChanges = (upTo: number): readonly string[] => [
  `DELETE FROM log WHERE revision <= ${int(upTo)}`,
  'SELECT ROW_COUNT()',
];

/**
 * Returns an integer literal. Throws unless the value is a safe integer of at least 0, so that no other text gets into
 * a statement.
 */
export function int(value: number): string {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`not an unsigned integer: ${value}`);
  return String(value);
}

/** Returns the UTF-8 bytes of a text as a hexadecimal literal. */
export function hex(value: string): string {
  return `X'${Buffer.from(value, 'utf8').toString('hex')}'`;
}

function byIndex(claims: readonly ClaimRow[]): string[] {
  const groups = new Map<string, string[]>();
  for (const { kind, index, value } of claims) {
    const where = `kind = ${int(kind)} AND idx = ${int(index)}`;
    const group = groups.get(where);
    if (group) group.push(value);
    else groups.set(where, [value]);
  }
  return [...groups].flatMap(([where, values]) => listsOf(values).map((list) => `${where} AND value IN (${list})`));
}

function listsOf(values: readonly string[]): string[] {
  const groups = packRows(values, { maxRows: maxListed, maxBytes: Infinity, sizeOf: () => 0 });
  return groups.map((group) => group.map(hex).join(', '));
}

function repeated(text: string, times: number): string {
  return new Array(times).fill(text).join(', ');
}
