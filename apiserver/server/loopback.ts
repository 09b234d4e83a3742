const loopback = new Set(['127.0.0.1', '::1', 'localhost']);

/** Returns true for 127.0.0.1, ::1 and localhost, which only this machine can reach; false for every other host. */
export function isLoopback(host: string): boolean {
  return loopback.has(host);
}
