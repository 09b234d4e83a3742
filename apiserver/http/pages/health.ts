/** One thing that has to be well. */
export interface HealthCheck {
  readonly name: string;
  /** undefined when well, else what is wrong, in words for an operator. */
  check(): string | undefined;
}

export interface HealthReport {
  readonly healthy: boolean;
  readonly text: string;
}

const healthPaths: readonly string[] = ['/livez', '/readyz', '/healthz'];

/** Health is for those who watch over the process: it is answered without authentication. */
export function isHealthPath(path: string): boolean {
  return healthPaths.includes(withoutTrailingSlash(path));
}

/** One trailing slash is ignored. */
export function withoutTrailingSlash(path: string): string {
  return path.replace(/(.)\/$/, '$1');
}

/** `ok`, or a line a check: always with `verbose`, and when something is wrong (`/livez`, `/readyz`, `/healthz`). */
export function healthReport(
  name: string,
  checks: readonly HealthCheck[],
  query: { verbose: boolean; exclude: readonly string[] },
): HealthReport {
  const results = checks
    .filter((check) => !query.exclude.includes(check.name))
    .map((check) => ({ name: check.name, problem: check.check() }));
  const healthy = results.every(({ problem }) => problem === undefined);
  if (healthy && !query.verbose) return { healthy, text: 'ok' };
  const lines = results.map(({ name: check, problem }) =>
    problem === undefined ? `[+]${check} ok` : `[-]${check} failed: ${problem}`,
  );
  return { healthy, text: [...lines, `${name} check ${healthy ? 'passed' : 'failed'}`, ''].join('\n') };
}
