import { placeInFolder } from './error-stack.ts';

/**
 * Returns an error's message, followed by the message of its cause if that says more. It is for output without a stack.
 */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message = systemText(error) ?? (error.message === '' ? error.name : error.message);
  const { cause } = error;
  if (!(cause instanceof Error) || message.includes(cause.message)) return message;
  return `${message}: ${errorText(cause)}`;
}

/** Returns a readable message when a file is missing or the user may not use it; undefined for any other error. */
function systemText(error: Error): string | undefined {
  if (!('code' in error && 'path' in error && 'syscall' in error)) return undefined;
  const { code, path, syscall } = error;
  if (typeof path !== 'string' || String(syscall).startsWith('spawn')) return undefined;
  if (code === 'ENOENT') return `there is no file or folder "${path}"`;
  return code === 'EACCES' || code === 'EPERM' ? `this user may not use "${path}"` : undefined;
}

/**
 * Returns the text of {@link errorText}, with the file and line in a plugin's folder where the error was thrown.
 * `folder` is a real path.
 */
export function errorTextWithPlace(error: unknown, folder: string | undefined): string {
  const text = errorText(error);
  const place = error instanceof Error && folder !== undefined ? placeInFolder(error, folder) : undefined;
  return place === undefined || text.includes(place) ? text : `${text} (${place})`;
}

export function hasCode(error: unknown, ...codes: readonly unknown[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(error.code);
}
