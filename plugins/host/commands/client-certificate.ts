import { issueClientCertificate } from '@homeostat/apiserver/command-line';
import type { Issued } from '@homeostat/apiserver/command-line';
import { ConfigError } from '../serve/config-error.ts';
import type { ServeConfig } from '../serve/config.ts';
import { hasCode } from '../text/error-text.ts';

const dayMs = 86_400_000;
const defaultDays = 7;
const maxDays = 365;

/** The flags for the user and the lifetime of a certificate. */
export interface CertificateFlags {
  readonly user?: string | undefined;
  readonly group?: readonly string[] | undefined;
  readonly days?: string | undefined;
}

/**
 * Issues a certificate with the authority of the server that has this configuration.
 * @throws ConfigError for bad values of flags, and when the server's certificate does not come from its own authority;
 * Error when the server has not created its authority yet
 */
export async function issueCertificate(flags: CertificateFlags, { tls }: ServeConfig): Promise<Issued> {
  const { user = '', group: groups = [], days } = flags;
  checkName('--user', user);
  for (const group of groups) checkName('--group', group);
  if (tls === undefined || !('directory' in tls)) {
    throw new ConfigError(
      "only the server's own authority issues certificates: use --tls or --tls-dir, and leave out --tls-cert",
    );
  }
  const nowMs = Date.now();
  const untilMs = nowMs + daysOf(days) * dayMs;
  try {
    return await issueClientCertificate({ directory: tls.directory, user, groups, nowMs, untilMs });
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    throw new Error(
      `${tls.directory}: has no certificate authority; the server creates one at its first start with --tls`,
      {
        cause: error,
      },
    );
  }
}

function daysOf(text: string | undefined): number {
  if (text === undefined) return defaultDays;
  const days = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (days < 1 || days > maxDays)
    throw new ConfigError(`--days: must be a whole number from 1 to ${maxDays}, not ${JSON.stringify(text)}`);
  return days;
}

function checkName(flag: string, name: string): void {
  if (name.length > 0 && name.length <= 256 && !/\p{C}/u.test(name)) return;
  throw new ConfigError(
    `${flag}: must have 1 to 256 characters, without control characters and other invisible characters`,
  );
}
