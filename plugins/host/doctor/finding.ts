import { errorText, hasCode } from '../text/error-text.ts';

/** A fact about an installation. */
export interface Finding {
  /** The part that was judged: `node`, `database`, … */
  readonly check: string;
  /**
   * `error`: the server cannot start or does not work; `warning`: it works, but something is wrong, or will be soon.
   */
  readonly level: 'ok' | 'warning' | 'error';
  readonly message: string;
  /** The action that solves the problem. */
  readonly cure?: string;
}

/** Checks one part of an installation, and returns the findings. */
export type Judge = () => Promise<readonly Finding[]> | readonly Finding[];

/**
 * Calls the function that checks one part of an installation, and resolves with its findings. An error that the
 * function throws becomes a finding.
 */
export async function findingsOf(check: string, judge: Judge): Promise<readonly Finding[]> {
  try {
    return await judge();
  } catch (error) {
    const cure = hasCode(error, 'ENOENT') ? { cure: 'name a file that exists' } : {};
    return [{ check, level: 'error', message: errorText(error), ...cure }];
  }
}

/** Returns the findings as lines, each followed by its cure, if any; then the numbers of errors and warnings. */
export function formatFindings(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, level, message, cure }) => [
    `${level.padEnd('warning'.length)}  ${check.padEnd(width)}  ${message}`,
    ...(cure === undefined ? [] : [`${' '.repeat(width + 11)}→ ${cure}`]),
  ]);
  const count = (wanted: Finding['level']): string => {
    const found = findings.filter(({ level }) => level === wanted).length;
    return `${found} ${wanted}${found === 1 ? '' : 's'}`;
  };
  return `${[...lines, '', `${count('error')}, ${count('warning')}`].join('\n')}\n`;
}
