import { statSync } from 'node:fs';

/**
 * Returns the problem if the mode of a secret file gives access to other users than its owner; otherwise undefined. The
 * group of a file that root owns may read the file, so that root can mount a secret that a service can read.
 */
export function secretFileProblem(path: string): string | undefined {
  // Windows has no modes of files.
  if (process.platform === 'win32') return undefined;
  const { mode, uid } = statSync(path);
  const forbidden = uid === 0 ? 0o037 : 0o077;
  if ((mode & forbidden) === 0) return undefined;
  const octal = (mode & 0o777).toString(8).padStart(4, '0');
  return `users other than its owner have access to this file, which holds a secret (mode ${octal}): chmod 600 it`;
}

/** Matches the URLs `scheme://user:password@…` and `…?password=…`. */
const passwords = [/^[^/]*:\/\/[^/@]*:[^/]*@/, /[?&]password=/];

/** True for settings with a token, or the URL of a database with a password. */
export function holdsSecret({ token, database }: Readonly<Record<string, unknown>>): boolean {
  return token !== undefined || (typeof database === 'string' && passwords.some((password) => password.test(database)));
}
