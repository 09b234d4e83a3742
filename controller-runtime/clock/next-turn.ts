/** Resolves in a later turn of the event loop, so that pending handlers, timers and I/O run first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
