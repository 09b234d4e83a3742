const loopback = new Set(['127.0.0.1', '::1', 'localhost']);

/** Returns true for an address that only this machine can reach. */
export function isLoopback(host: string): boolean {
  return loopback.has(host);
}
