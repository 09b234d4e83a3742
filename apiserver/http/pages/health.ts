import { issuerPath } from './issuer-path.ts';

/** A check of one part of the server. */
export interface HealthCheck {
  readonly name: string;
  /** Returns undefined when the part is healthy; otherwise the problem, as a text for an operator. */
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

/** True for paths that need no credential: health checks, which supervisors of the process call, and the login. */
export function isOpenPath(path: string): boolean {
  const plain = withoutTrailingSlash(path);
  return openPaths.has(plain) || (plain.startsWith('/login/') && issuerPath(plain) !== undefined);
}

/** Returns a path without its last slash, if it ends with one. Returns `/` unchanged. */
export function withoutTrailingSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** The options of a health report. */
export interface HealthQuery {
  readonly verbose: boolean;
  readonly exclude: readonly string[];
  /** When false, the report says which checks fail, but not why, because problems name hosts, users and files. */
  readonly hasReasons: boolean;
}

/**
 * Returns the health report of `/livez`, `/readyz` or `/healthz`: `ok`, or one line for each check if `verbose` is set
 * or a check fails.
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
