/** A check of one thing that has to work. */
export interface HealthCheck {
  readonly name: string;
  /** undefined when it is healthy; otherwise the problem, in words for an operator. */
  check(): string | undefined;
}

export interface HealthReport {
  readonly healthy: boolean;
  readonly text: string;
}

const healthPaths: readonly string[] = ['/livez', '/readyz', '/healthz'];

/** Health checks are for supervisors of the process and need no authentication. */
export function isHealthPath(path: string): boolean {
  return healthPaths.includes(withoutTrailingSlash(path));
}

/** One trailing slash is ignored. */
export function withoutTrailingSlash(path: string): string {
  return path.replace(/(.)\/$/, '$1');
}

/**
 * The health report of `/livez`, `/readyz` and `/healthz`: `ok`, or one line per check with `verbose` or when a check
 * fails.
 */
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
