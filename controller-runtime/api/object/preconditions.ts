/**
 * The uid and the revision that the stored object must have for a write to succeed; each may be absent. When the object
 * has another uid or revision, the server refuses the write (409 Conflict).
 */
export interface Preconditions {
  /**
   * The expected metadata.uid. The stored object has another uid when it was deleted and created again with the same
   * name.
   */
  readonly uid?: string;
  /** The expected metadata.resourceVersion. */
  readonly resourceVersion?: string;
}

/** The request header with the preconditions of a PATCH. */
export const preconditionsHeader = 'homeostat-preconditions';

const names: readonly string[] = ['uid', 'resourceVersion'] satisfies readonly (keyof Preconditions)[];

/**
 * Returns the text `uid=<uid>&resourceVersion=<revision>`. An absent precondition is left out. Values are
 * percent-encoded.
 */
export function formatPreconditions(preconditions: Preconditions): string {
  return Object.entries(preconditions)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join('&');
}

/** Parses the text of {@link formatPreconditions}; returns undefined for the empty text and for a malformed one. */
export function parsePreconditions(text: string): Preconditions | undefined {
  const found = new Map<string, string>();
  for (const part of text.split('&')) {
    const [, name = '', encoded = ''] = /^(\w+)=(.+)$/.exec(part) ?? [];
    const value = decode(encoded);
    if (!names.includes(name) || found.has(name) || value === undefined || value === '') return undefined;
    found.set(name, value);
  }
  return Object.fromEntries(found);
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
