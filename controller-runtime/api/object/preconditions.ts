/**
 * The uid or the revision that a write expects the stored object to have: when the object has another one, the server
 * refuses the write (409 Conflict).
 */
export interface Preconditions {
  /** metadata.uid: a new object of the same name has another uid. */
  readonly uid?: string;
  /** metadata.resourceVersion. */
  readonly resourceVersion?: string;
}

/** The request header with the preconditions of a PATCH. */
export const preconditionsHeader = 'homeostat-preconditions';

const names: readonly string[] = ['uid', 'resourceVersion'] satisfies readonly (keyof Preconditions)[];

/** Returns `uid=<uid>&resourceVersion=<revision>`, with the parts that are given; values are percent-encoded. */
export function formatPreconditions(preconditions: Preconditions): string {
  return Object.entries(preconditions)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join('&');
}

/** Parses preconditions; returns undefined for a text in another form. */
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
