import type { Outcome } from './store.ts';

/** The codes of operations in the column `log.op`, in every SQL database. */
export const operationCodes = { create: 0, update: 1, delete: 2 } as const;
export const operationNames = ['create', 'update', 'delete'] as const;

/** The codes of conflicts in the result of a batch. They are negative, so that they differ from revisions. */
export const conflictCodes = {
  revision: -1,
  exists: -2,
  notFound: -3,
  unique: -4,
  generation: -5,
  requires: -6,
  /** A newer program has upgraded the tables. All operations of a batch then have this code. */
  newer: -7,
} as const;

type Conflict = 'exists' | 'notFound' | 'generation' | 'requires';

const conflicts: ReadonlyMap<number, Conflict> = new Map<number, Conflict>([
  [conflictCodes.exists, 'exists'],
  [conflictCodes.notFound, 'notFound'],
  [conflictCodes.generation, 'generation'],
  [conflictCodes.requires, 'requires'],
]);

/**
 * Returns the outcome for a revision or for the code of a conflict. For the code `unique`, returns a placeholder: the
 * caller must replace it with an outcome that has the claim and the key of the claim's holder.
 */
export function outcomeOfCode(code: number): Outcome {
  if (code >= 0) return { revision: code };
  return { conflict: conflicts.get(code) ?? 'revision' };
}
