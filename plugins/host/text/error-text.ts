import { placeInFolder } from './error-stack.ts';

/** Returns an error's message, with its cause if that says more; for people who do not see the stack. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message = systemText(error) ?? (error.message === '' ? error.name : error.message);
  const { cause } = error;
  if (!(cause instanceof Error) || message.includes(cause.message)) return message;
  return `${message}: ${errorText(cause)}`;
}

/** Returns in words what the system says about a file; undefined for any other error. */
function systemText(error: Error): string | undefined {
  if (!('code' in error && 'path' in error && 'syscall' in error)) return undefined;
  const { code, path, syscall } = error;
  if (typeof path !== 'string' || String(syscall).startsWith('spawn')) return undefined;
  if (code === 'ENOENT') return `there is no file or folder "${path}"`;
  return code === 'EACCES' || code === 'EPERM' ? `this user may not use "${path}"` : undefined;
}

/**
 * Returns the text of {@link errorText}, with the place in a plugin's folder (a real path) where the error was thrown.
 */
export function errorTextWithPlace(error: unknown, folder: string | undefined): string {
  const text = errorText(error);
  const place = error instanceof Error && folder !== undefined ? placeInFolder(error, folder) : undefined;
  return place === undefined || text.includes(place) ? text : `${text} (${place})`;
}

/** True for an error of the system with one of these codes, such as ENOENT. */
export function hasCode(error: unknown, ...codes: readonly unknown[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(error.code);
}
