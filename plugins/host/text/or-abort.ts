/** What the work answers, unless the signal aborts first: then rejects with its reason, and the work is on its own. */
export async function orAbort<V>(work: Promise<V>, signal: AbortSignal): Promise<V> {
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
