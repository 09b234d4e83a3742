import * as commits from './commit-statements.ts';
import { type OperationColumns, operationColumns, outcomeOf, type OutcomeRow } from './operation-columns.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import { isAfterFailure, isServerError } from './postgres-errors.ts';
import * as sql from './postgres-statements.ts';
import { conflictCodes } from '../operation-codes.ts';
import { StoreError } from '../store-error.ts';
import type { Committed, Operation } from '../store.ts';

/**
 * What came of sending a transaction. `lost`: the connection failed before the answer to COMMIT, and only the database
 * knows; `refused`: nothing was written.
 */
export type BatchResult =
  | ({ readonly kind: 'done' } & Committed)
  | { readonly kind: 'refused'; readonly error: unknown }
  | { readonly kind: 'lost'; readonly error: unknown };

/**
 * A batch as one transaction: sent in one go, answered in one. The counter's row is locked by a statement before the one
 * that decides and writes, which thereby sees all that was committed before it (READ COMMITTED).
 */
export async function sendBatch(
  connection: PostgresConnection,
  batch: readonly Operation[],
  commitId: string,
): Promise<BatchResult> {
  const columns = operationColumns(batch);
  const { warnings } = connection;
  const answers = connection.together(() => ({
    begin: connection.execute('BEGIN ISOLATION LEVEL READ COMMITTED'),
    lock: connection.query<{ revision: number }>(sql.lockCounter),
    write: connection.query<OutcomeRow>(statementOf(columns), parametersOf(columns, commitId)),
    commit: connection.execute('COMMIT'),
  }));
  const all = await Promise.allSettled([answers.begin, answers.lock, answers.write, answers.commit]);
  const errors = all.flatMap((each): unknown[] => (each.status === 'rejected' ? [each.reason] : []));
  // A statement of a transaction that failed fails for that, and says so; the first error is the reason.
  const error = errors.find((each) => isServerError(each) && !isAfterFailure(each)) ?? errors.at(0);
  const end = await endOf(connection, answers.commit);
  if (end === 'undone') return { kind: 'refused', error };
  // Not on the standby: as good as no answer. The look waits for the standby again.
  if (end === 'lost' || connection.warnings > warnings)
    return { kind: 'lost', error: error ?? new Error('no standby has it') };
  const [counter] = await answers.lock;
  const rows = await answers.write;
  if (rows.at(0)?.code === conflictCodes.newer) {
    return { kind: 'refused', error: new StoreError('refused', 'a newer program has upgraded the tables') };
  }
  const outcomes = rows.map((row) => outcomeOf(row, columns.claims));
  return { kind: 'done', before: counter?.revision ?? 0, outcomes };
}

async function endOf(connection: PostgresConnection, commit: Promise<string>): Promise<'done' | 'undone' | 'lost'> {
  try {
    // The server answers the COMMIT of a transaction that failed as a ROLLBACK.
    return (await commit) === 'COMMIT' ? 'done' : 'undone';
  } catch (error) {
    if (!isServerError(error)) return 'lost';
    // COMMIT's own error means that it is undone, unless the server went down with it.
    return connection.query(sql.getCounter).then(
      () => 'undone',
      () => 'lost',
    );
  }
}

function statementOf({ generations, claims, required }: OperationColumns): sql.Statement {
  if (required) return claims ? commits.commitClaimsRequired : commits.commitRequired;
  if (claims) return commits.commitClaims;
  return generations ? commits.commitOfGenerations : commits.commit;
}

/** In the order of the statement's numbers. */
function parametersOf(columns: OperationColumns, commitId: string): unknown[] {
  const { codes, kinds, keys, expects, starts, lengths, bytes, generations, claims, required } = columns;
  const parameters = [codes, kinds, keys, expects, starts, lengths, bytes, commitId];
  if (!claims && !generations && !required) return parameters;
  const { requirements, kinds: kindsOf, values } = generations ?? { requirements: [], kinds: [], values: [] };
  parameters.push(requirements, kindsOf, values);
  for (const each of claims ? [claims.added, claims.removed] : []) {
    parameters.push(each.positions, each.kinds, each.keys, each.indexes, each.values);
  }
  if (required) {
    const { numbers, sets, kinds: of, indexes, values: wanted } = required;
    parameters.push(numbers, sets, of, indexes, wanted);
  }
  return parameters;
}
