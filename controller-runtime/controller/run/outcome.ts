import { isConflict, unknownKeyOf } from '../../api/index.ts';
import { durationOption } from '../definition/parse-duration.ts';
import type { ReconcileResult } from '../definition/reconciler.ts';
import type { ConflictSource } from './run-client.ts';
import { isTerminal } from '../definition/terminal-error.ts';

/** The outcome of a run. From the outcome, `settleRun` decides whether and when the key is reconciled again. */
export type Outcome =
  | { readonly kind: 'success' }
  | { readonly kind: 'after'; readonly delayMs: number }
  | { readonly kind: 'requeue' }
  /** The author's code ended early, because the controller stops. */
  | { readonly kind: 'stopped' }
  /** The author's code was not called, because the object is paused. */
  | { readonly kind: 'paused' }
  | { readonly kind: 'conflict'; readonly error: unknown; readonly source: ConflictSource | undefined }
  | { readonly kind: 'terminal' | 'error' | 'timeout'; readonly error: unknown };

const resultKeys: readonly string[] = ['after', 'requeue', 'requeueAfter'];

/**
 * Returns the outcome for the result of a run.
 * @throws TypeError for a value that is not a result, or has an unknown key; RangeError for an invalid delay
 */
export function outcomeOfResult(result: ReconcileResult): Outcome {
  if (result === undefined || result === null) return { kind: 'success' };
  if (typeof result !== 'object') {
    throw new TypeError(`a reconciler returns nothing, or an object such as { after: "10m" }, not ${String(result)}`);
  }
  const unknown = unknownKeyOf(result, resultKeys);
  if (unknown !== undefined) throw new TypeError(`the result of a run has an ${unknown}`);
  if ('after' in result && result.after !== undefined)
    return { kind: 'after', delayMs: durationOption('after', result.after) };
  if ('requeueAfter' in result && result.requeueAfter !== undefined) {
    const delayMs = durationOption('requeueAfter', result.requeueAfter);
    if (delayMs > 0) return { kind: 'after', delayMs };
  }
  return 'requeue' in result && result.requeue ? { kind: 'requeue' } : { kind: 'success' };
}

export function outcomeOfError(error: unknown, source: ConflictSource | undefined): Outcome {
  if (!hasText(error))
    return { kind: 'error', error: new Error('the thrown value cannot be converted to text', { cause: error }) };
  if (isTerminal(error)) return { kind: 'terminal', error };
  if (isConflict(error)) return { kind: 'conflict', error, source };
  return { kind: 'error', error };
}

/** True for a thrown value that can be converted to a text for logs, pages and traces. Code can throw any value. */
function hasText(error: unknown): boolean {
  try {
    return typeof (error instanceof Error ? error.message : String(error)) === 'string';
  } catch {
    return false;
  }
}
