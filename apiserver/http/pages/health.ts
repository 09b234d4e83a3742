import { issuerPath } from './issuer-path.ts';

/** A check of one part that has to work. */
export interface HealthCheck {
  readonly name: string;
  /** undefined when it is healthy; otherwise the problem, in words for an operator. */
  check(): string | undefined;
}

export interface HealthReport {
  readonly healthy: boolean;
  readonly text: string;
}

const openPaths: ReadonlySet<string> = new Set([
  '/livez',
  '/readyz',
  '/healthz',
  '/login',
  '/login/login.css',
  '/login/login.js',
  '/logout',
]);

/** True for health checks, which are for supervisors of the process, and for the login: they need no credential. */
export function isOpenPath(path: string): boolean {
  const plain = withoutTrailingSlash(path);
  return openPaths.has(plain) || (plain.startsWith('/login/') && issuerPath(plain) !== undefined);
}

/** One trailing slash is ignored. */
export function withoutTrailingSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** The content of a health report. */
export interface HealthQuery {
  readonly verbose: boolean;
  readonly exclude: readonly string[];
  /** When false, the report says which checks fail, but not why: problems name hosts, users and files. */
  readonly hasReasons: boolean;
}

/**
 * The health report of `/livez`, `/readyz` and `/healthz`: `ok`, or one line per check with `verbose` or when a check
 * fails.
 */
export function healthReport(name: string, checks: readonly HealthCheck[], query: HealthQuery): HealthReport {
  const { verbose, exclude, hasReasons } = query;
  const results = checks
    .filter((check) => !exclude.includes(check.name))
    .map((check) => ({ name: check.name, problem: check.check() }));
  const healthy = results.every(({ problem }) => problem === undefined);
  if (healthy && !verbose) return { healthy, text: 'ok' };
  const lines = results.map(({ name: check, problem }) =>
    problem === undefined ? `[+]${check} ok` : `[-]${check} failed: ${hasReasons ? problem : 'reason withheld'}`,
  );
  return { healthy, text: [...lines, `${name} check ${healthy ? 'passed' : 'failed'}`, ''].join('\n') };
}
