import { conflictCodes, operationCodes } from '../operation-codes.ts';
import { migrations } from './postgres-schema.ts';
import { channel, type Statement } from './postgres-statements.ts';

/**
 * The optional parts of the statement. They are needed when operations of the batch have generations of unique indexes,
 * claims or required claims.
 */
interface CommitParts {
  readonly generations?: typeof generations;
  readonly claims?: typeof claims;
  readonly required?: ReturnType<typeof requiredFrom>;
}

/**
 * A condition that is true when the generation in an operation is the current generation of its kind. PostgreSQL builds
 * the array `holds` once, from the few different generations in a batch.
 */
const isOfGeneration = '(SELECT holds FROM generations)[i.requirement]';

/**
 * The part of the statement that checks the generations of unique indexes. $10 (kinds) and $11 (generations) list the
 * different generations of a batch. $9 has for each operation the position of its generation in these lists, counted
 * from 1.
 */
const generations = {
  values: ', $9::integer[]',
  column: ', requirement',
  decide: `generations AS MATERIALIZED (
      SELECT array_agg(coalesce(g.generation, 0) = r.generation ORDER BY r.number) AS holds
      FROM unnest($10::integer[], $11::bigint[]) WITH ORDINALITY AS r (kind, generation, number)
        LEFT JOIN homeostat_indexes g ON g.kind = r.kind
    ),`,
  conflict: `WHEN ${isOfGeneration} IS FALSE THEN ${conflictCodes.generation}`,
};

/**
 * A condition that is true when the operation of a claim is written. PostgreSQL builds the array `written` once, and
 * accesses it by position.
 */
const isWritten = '(SELECT written FROM outcome)[c.position]';

/**
 * The part for claims. $12 to $16 are the columns of the claims to add, $17 to $21 those of the claims to remove. An
 * object can add a claim that it already holds.
 */
const claims = {
  decide: `added AS (
      SELECT * FROM unnest($12::integer[], $13::integer[], $14::text[], $15::integer[], $16::text[])
        WITH ORDINALITY AS c (position, kind, key, idx, value, claim)
    ), taken AS MATERIALIZED (
      SELECT DISTINCT ON (c.position) c.position, u.key AS holder, c.claim
      FROM added c JOIN homeostat_uniq u ON u.kind = c.kind AND u.idx = c.idx AND u.value = c.value
      WHERE u.key <> c.key ORDER BY c.position, c.claim
    ),`,
  join: 'LEFT JOIN taken t ON t.position = i.position',
  conflict: `WHEN t.position IS NOT NULL THEN ${conflictCodes.unique}`,
  write: `outcome AS (
      SELECT array_agg(revision IS NOT NULL ORDER BY position) AS written FROM numbered
    ), released AS (
      DELETE FROM homeostat_uniq u
        USING unnest($17::integer[], $18::integer[], $19::text[], $20::integer[], $21::text[])
          AS c (position, kind, key, idx, value)
        WHERE u.kind = c.kind AND u.idx = c.idx AND u.value = c.value AND u.key = c.key AND ${isWritten}
    ), claimed AS (
      INSERT INTO homeostat_uniq (kind, idx, value, key)
        SELECT c.kind, c.idx, c.value, c.key FROM added c WHERE ${isWritten}
        ON CONFLICT (kind, idx, value) DO NOTHING
    ),`,
};

/**
 * Returns the part of the statement that checks required claims. Operations that require the same claims share one
 * numbered set of claims. The parameters of the part begin at `$<first>`: the first one has for each operation the
 * number of its set, and the next four are the columns of a table with the claims of all sets.
 */
function requiredFrom(first: number) {
  const [sets, kinds, indexes, values] = [1, 2, 3, 4].map((at) => `$${first + at}`);
  return {
    values: `, $${first}::integer[]`,
    column: ', required',
    decide: `sets AS (
        SELECT r.number, bool_and(u.key IS NOT NULL) AS holds
        FROM unnest(${sets}::integer[], ${kinds}::integer[], ${indexes}::integer[], ${values}::text[])
          AS r (number, kind, idx, value)
          LEFT JOIN homeostat_uniq u ON u.kind = r.kind AND u.idx = r.idx AND u.value = r.value
        GROUP BY r.number
      ), required AS MATERIALIZED (
        SELECT array_agg(holds ORDER BY number) AS holds FROM sets
      ),`,
    conflict: `WHEN (SELECT holds FROM required)[i.required] IS FALSE THEN ${conflictCodes.requires}`,
  };
}

/**
 * A condition that is true when a newer program has upgraded the tables. It is evaluated once, in a statement that
 * starts only after the counter is locked.
 */
const isNewer = `(SELECT value::integer FROM homeostat_meta WHERE name = 'schema') > ${migrations.length}`;

/**
 * Returns the statement that commits a batch. It starts after the counter is locked, so that it reads the current
 * state. All its parts see the state before the statement. Conflicts are decided before anything is written, and only
 * operations without a conflict get a revision and are written. The data of all operations are one byte string. The
 * notification has only the revision: the stores that receive it read the changes from the log.
 *
 * The settings of the session make PostgreSQL execute each join as a nested loop: a join with a table uses an index of
 * the table, but a join of two parts of the statement takes quadratic time. Only the join with `taken` joins two parts.
 * `taken` is usually small: it has only the operations whose claims belong to other objects.
 */
function commitText({ generations: g, claims: c, required: r }: CommitParts): string {
  const data = 'CASE WHEN n.length >= 0 THEN substring($7::bytea FROM n.start FOR n.length) END';
  return `WITH input AS (
      SELECT * FROM unnest($1::smallint[], $2::integer[], $3::text[], $4::bigint[], $5::integer[], $6::integer[]
        ${g?.values ?? ''} ${r?.values ?? ''}) WITH ORDINALITY
        AS i (op, kind, key, expect, start, length ${g?.column ?? ''} ${r?.column ?? ''}, position)
    ), ${g?.decide ?? ''} ${c?.decide ?? ''} ${r?.decide ?? ''} decided AS (
      SELECT i.*, kv.revision AS previous_revision, kv.data AS previous,
        ${c ? 't.holder, t.claim' : 'NULL::text AS holder, NULL::bigint AS claim'},
        CASE WHEN ${isNewer} THEN ${conflictCodes.newer} ${r?.conflict ?? ''} ${g?.conflict ?? ''}
             WHEN i.op = ${operationCodes.create} THEN
               CASE WHEN kv.revision IS NOT NULL THEN ${conflictCodes.exists} ${c?.conflict ?? ''} END
             WHEN kv.revision IS NULL THEN ${conflictCodes.notFound}
             WHEN kv.revision <> i.expect THEN ${conflictCodes.revision} ${c?.conflict ?? ''}
        END AS conflict
      FROM input i
        LEFT JOIN homeostat_kv kv ON kv.kind = i.kind AND kv.key = i.key
        ${c?.join ?? ''}
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
    ), ${c?.write ?? ''} counted AS (
      UPDATE homeostat_counter SET revision = last.revision
        FROM (SELECT max(revision) AS revision FROM numbered) last WHERE id = 1 AND last.revision IS NOT NULL
        RETURNING pg_notify(${channel}, last.revision::text)
    )
    SELECT coalesce(revision, conflict) AS code, holder, claim FROM numbered ORDER BY position`;
}

/** The statement for a batch without generations, claims and required claims, with parameters $1 to $8. */
export const commit: Statement = { name: 'commit', text: commitText({}) };

/**
 * The statement for a batch with generations of unique indexes, but without claims and required claims. It has the
 * parameters $1 to $11.
 */
export const commitOfGenerations: Statement = { name: 'commit_generations', text: commitText({ generations }) };

/**
 * The statement for a batch that adds or removes claims, with parameters $1 to $21. It includes the parameters of
 * generations, because operations with claims usually have a generation.
 */
export const commitClaims: Statement = { name: 'commit_claims', text: commitText({ generations, claims }) };

/**
 * The statement for a batch with required claims, which must exist at the commit, but without claims to add or remove.
 * Most batches of creations are of this form. The statement has the parameters $1 to $16.
 */
export const commitRequired: Statement = {
  name: 'commit_required',
  text: commitText({ generations, required: requiredFrom(12) }),
};

/** The statement for a batch with required claims that also adds or removes claims, with parameters $1 to $26. */
export const commitClaimsRequired: Statement = {
  name: 'commit_claims_required',
  text: commitText({ generations, claims, required: requiredFrom(22) }),
};
