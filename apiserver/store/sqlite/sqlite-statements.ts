export const getMeta = 'SELECT value FROM meta WHERE name = ?';
export const setMeta = 'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value';

export const dropMeta = 'DELETE FROM meta WHERE name = ?';

/** Returns the column `quick_check`: the first damage that SQLite finds in the file, or `ok`. */
export const findDamage = 'PRAGMA quick_check(1)';

export const lastRevision = 'SELECT coalesce(max(revision), 0) AS revision FROM history';
export const addChange = 'INSERT INTO history (revision, op, kind, previous, key, data) VALUES (?, ?, ?, ?, ?, ?)';
export const getKey = 'SELECT key FROM history WHERE revision = ?';
export const getOwner = 'SELECT kind, key FROM history WHERE revision = ?';
export const getRow = 'SELECT key, revision, data FROM history WHERE revision = ?';
export const listRows =
  'SELECT key, revision, data FROM history WHERE revision >= ? AND revision <= ? ORDER BY revision';
/** Returns the changes after a revision, without their data. This is enough to find the revision of each object. */
export const listStates = 'SELECT revision, op, kind, previous, key FROM history WHERE revision > ? ORDER BY revision';
/**
 * Drops the history. {@link dropAllKept} must follow, because kept data refers to revisions, and the next history may
 * assign the same revisions again.
 */
export const dropHistory = 'DELETE FROM history';
export const dropAllKept = 'DELETE FROM kept';

export const listPresent = 'SELECT kind, hashes, revisions FROM present ORDER BY kind';
export const addPresent = 'INSERT INTO present (kind, hashes, revisions) VALUES (?, ?, ?)';
export const listGone = 'SELECT revision FROM gone';
/**
 * Deletes the stored list of the objects that exist, with their revisions. Without this list, the next start finds the
 * objects by reading all rows of `history`.
 */
export const dropPresent = `DELETE FROM present; DELETE FROM gone; DELETE FROM meta WHERE name = 'present'`;

export const findClaim = 'SELECT key FROM uniq WHERE kind = ? AND idx = ? AND value = ?';
export const setClaim = `INSERT INTO uniq (kind, idx, value, key) VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET key = excluded.key`;
/** Deletes a claim if this object holds it. */
export const dropClaim = 'DELETE FROM uniq WHERE kind = ? AND idx = ? AND value = ? AND key = ?';
export const claimsOfKind = 'SELECT idx AS "index", value, key FROM uniq WHERE kind = ?';
export const changedAfter = 'SELECT revision FROM history WHERE revision > ? AND kind = ? LIMIT 1';

/**
 * Returns changes with the states that they replaced. It is only used for revisions after compactRevision, whose
 * changes and previous states all exist.
 */
export const listChanges = `SELECT change.revision, change.op, change.kind, change.key,
    coalesce(change.data, before.data) AS data, before.data AS previous, change.previous AS previousRevision
  FROM history AS change LEFT JOIN history AS before ON before.revision = change.previous
  WHERE change.revision > ? ORDER BY change.revision LIMIT ?`;

/**
 * Counts the changes after one revision and up to another one, and stops at a maximum number of changes. Returns their
 * number, and the revision of the last counted change.
 */
export const compactBound = `SELECT count(*) AS changes, max(revision) AS last
  FROM (SELECT revision FROM history WHERE revision > ? AND revision <= ? ORDER BY revision LIMIT ?)`;
export const dropReplaced = `DELETE FROM history WHERE revision IN
  (SELECT previous FROM history WHERE revision > ? AND revision <= ? AND previous IS NOT NULL)`;
/**
 * Runs before {@link dropReplaced} deletes states from `history`. Adds the revisions of these states to the table
 * `gone`, because the table `present` may list them. Leaves out revisions after the one at which `present` was
 * written, because `present` lists no later revisions.
 */
export const addGone = `INSERT OR IGNORE INTO gone SELECT previous FROM history
  WHERE revision > ? AND revision <= ? AND previous <= ?`;
export const dropDeletes = 'DELETE FROM history WHERE revision > ? AND revision <= ? AND op = 2';

export const addNumber = 'INSERT INTO number (name) VALUES (?) ON CONFLICT DO NOTHING';
export const getNumber = 'SELECT id FROM number WHERE name = ?';
export const listNames = 'SELECT name FROM number WHERE substr(name, 1, length(?)) = ?';

export const findKept = 'SELECT last, data FROM kept WHERE kind = ? AND last >= ? ORDER BY last LIMIT 1';
export const setKept = 'INSERT OR REPLACE INTO kept (kind, last, data) VALUES (?, ?, ?)';
/** Deletes the first rows of a kind from the table `kept`, at most a given number of rows. */
export const dropKept = `DELETE FROM kept WHERE kind = ? AND last IN
  (SELECT last FROM kept WHERE kind = ? ORDER BY last LIMIT ?)`;
