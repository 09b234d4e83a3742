/**
 * Aborts the controller when the signal aborts, until the returned function is called. It replaces AbortSignal.any,
 * which leaks memory on Node 20: there, a source signal keeps a reference to each derived signal as long as the source
 * signal lives.
 */
export function linkAbort(controller: AbortController, signal: AbortSignal | undefined): () => void {
  if (signal === undefined) return () => {};
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return () => signal.removeEventListener('abort', abort);
}

/**
 * Resolves when the signal aborts, or at once if it has aborted. The listener on the signal is removed only when the
 * signal aborts.
 */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
