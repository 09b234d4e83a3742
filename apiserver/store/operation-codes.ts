import type { Outcome } from './store.ts';

/** The codes of operations in `log.op`, in every dialect. */
export const operationCodes = { create: 0, update: 1, delete: 2 } as const;
export const operationNames = ['create', 'update', 'delete'] as const;

/** How a batch's answer tells a conflict from a revision. */
export const conflictCodes = {
  revision: -1,
  exists: -2,
  notFound: -3,
  unique: -4,
  generation: -5,
  requires: -6,
  /** A newer program has upgraded the tables: of all operations of the batch. */
  newer: -7,
} as const;

const conflicts = {
  [conflictCodes.exists]: 'exists',
  [conflictCodes.notFound]: 'notFound',
  [conflictCodes.generation]: 'generation',
  [conflictCodes.requires]: 'requires',
} as const;

/** What a revision, or the code of a conflict, says; of a lost claim, whose holder stands elsewhere, that there is one. */
export function outcomeOfCode(code: number): Outcome {
  if (code >= 0) return { revision: code };
  return { conflict: conflicts[code as keyof typeof conflicts] ?? 'revision' };
}
