import * as commits from './commit-statements.ts';
import { type OperationColumns, operationColumns, outcomeOf, type OutcomeRow } from './operation-columns.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import { isAfterFailure, isServerError } from './postgres-errors.ts';
import * as sql from './postgres-statements.ts';
import { conflictCodes } from '../operation-codes.ts';
import { StoreError } from '../store-error.ts';
import type { Committed, Operation } from '../store.ts';

/**
 * The result of sending a transaction. `lost`: the connection failed before the response to COMMIT, or the server has
 * warned that no standby has confirmed the commit. The outcome must then be looked up in the database. `refused`:
 * nothing was written.
 */
export type BatchResult =
  | ({ readonly kind: 'done' } & Committed)
  | { readonly kind: 'refused'; readonly error: unknown }
  | { readonly kind: 'lost'; readonly error: unknown };

/**
 * Sends a batch as one transaction, in one round trip. The first statement locks the row of the revision counter. The
 * second one finds the operations with a conflict, and writes the others. It sees everything that was committed before
 * the lock, because the transaction is READ COMMITTED.
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
  // After a failed statement, the later ones only fail because of it, so the first error is reported.
  const error = errors.find((each) => isServerError(each) && !isAfterFailure(each)) ?? errors.at(0);
  const end = await endOf(connection, answers.commit);
  if (end === 'undone') return { kind: 'refused', error };
  // A warning means that the standby possibly lacks the commit, so the commit counts as lost. The caller then looks up
  // the outcome of the commit in the database, and this query waits for the standby again.
  if (end === 'lost' || connection.warnings > warnings)
    return { kind: 'lost', error: error ?? new Error('no standby has confirmed the commit') };
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
    // The server responds to the COMMIT of a failed transaction with ROLLBACK.
    return (await commit) === 'COMMIT' ? 'done' : 'undone';
  } catch (error) {
    if (!isServerError(error)) return 'lost';
    // An error of COMMIT itself means a rollback, unless the server crashes. The next query shows whether the server
    // still runs.
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

/** Returns the parameters, in the order of their numbers in the statement. */
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
