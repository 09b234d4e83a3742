import { statSync } from 'node:fs';

/**
 * What is wrong with the mode of a file that holds a secret: its owner alone may have access to it, and to what root owns
 * its group may read, so that a secret can be mounted for the user of a service. undefined: nothing.
 */
export function secretFileProblem(path: string): string | undefined {
  // Windows has no such modes.
  if (process.platform === 'win32') return undefined;
  const { mode, uid } = statSync(path);
  const forbidden = uid === 0 ? 0o037 : 0o077;
  if ((mode & forbidden) === 0) return undefined;
  const octal = (mode & 0o777).toString(8).padStart(4, '0');
  return `others than its owner have access to this file, which holds a secret (mode ${octal}): chmod 600 it`;
}
