/**
 * Aborts the controller when the signal aborts; returns a function that ends this link. Not AbortSignal.any: on Node 20 each signal
 * that it derives stays referenced by its source for as long as that lives.
 */
export function linkAbort(controller: AbortController, signal: AbortSignal | undefined): () => void {
  if (signal === undefined) return () => {};
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return () => signal.removeEventListener('abort', abort);
}

/** Resolves when the signal aborts; at once when it has. Leaves a listener where it never does. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
