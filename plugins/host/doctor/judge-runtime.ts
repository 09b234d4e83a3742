import type { Finding } from './finding.ts';

/** The last day on which each release line of Node gets fixes, https://github.com/nodejs/release */
const lastFixes: Readonly<Record<number, string>> = {
  20: '2026-04-30',
  22: '2027-04-30',
  24: '2028-04-30',
  26: '2029-04-30',
};
const recommended = 24;

const oldest = { major: 20, minor: 19 } as const;

/** Judges the version of Node, such as `22.13.1`, for a point in time. */
export function judgeNode(version: string, nowMs: number): readonly Finding[] {
  const check = 'node';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const cure = `install Node ${recommended}`;
  if (major < oldest.major || (major === oldest.major && minor < oldest.minor)) {
    const message = `Node ${version} is too old: ${oldest.major}.${oldest.minor} or newer is needed`;
    return [{ check, level: 'error', message, cure }];
  }
  const until = lastFixes[major];
  if (until !== undefined && nowMs > Date.parse(`${until}T23:59:59Z`))
    return [{ check, level: 'warning', message: `Node ${version} has received no fixes since ${until}`, cure }];
  return [{ check, level: 'ok', message: `Node ${version}` }];
}
