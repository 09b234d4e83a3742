/**
 * Aborts the controller when the signal does; answers how to undo that. Not AbortSignal.any: on Node 20 each signal
 * that it derives stays referenced by its source for as long as that lives.
 */
export function linkAbort(controller: AbortController, signal: AbortSignal | undefined): () => void {
  if (signal === undefined) return () => {};
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return () => signal.removeEventListener('abort', abort);
}
