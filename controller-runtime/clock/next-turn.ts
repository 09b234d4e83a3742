/** Resolves in a later turn of the event loop, after what waits for this one: other handlers, timers and I/O. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
