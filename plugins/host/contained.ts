/** Calls what a plugin gave. A throw and a rejection go to `onError`; nobody waits for a promise that it answers. */
export function contained(call: () => unknown, onError: (error: unknown) => void): void {
  (async () => call())().catch(onError);
}
