import type { Outcome } from './store.ts';

/** The codes of operations in `log.op`, in every dialect. */
export const operationCodes = { create: 0, update: 1, delete: 2 } as const;
export const operationNames = ['create', 'update', 'delete'] as const;

/** The codes by which a batch's result distinguishes conflicts from revisions. */
export const conflictCodes = {
  revision: -1,
  exists: -2,
  notFound: -3,
  unique: -4,
  generation: -5,
  requires: -6,
  /** A newer program has upgraded the tables: this code is set for all operations of the batch. */
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
 * Returns the outcome for a revision or a conflict's code. For a lost claim, it says only that the claim has a
 * holder, whose key is stored elsewhere.
 */
export function outcomeOfCode(code: number): Outcome {
  if (code >= 0) return { revision: code };
  return { conflict: conflicts.get(code) ?? 'revision' };
}
