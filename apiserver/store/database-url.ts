import type { Store } from './store.ts';

/** What a database URL names. Paths of a file are as given: relative ones are the process's to resolve. */
export type DatabaseLocation = { readonly engine: 'sqlite'; readonly path: string } | { readonly engine: 'memory' };

const forms = 'sqlite:<file>, sqlite:///<absolute file> or memory:';

/**
 * Reads `sqlite:./data/homeostat.db`, `sqlite:///absolute/path` and `memory:`. Throws a RangeError on anything else; the
 * message never repeats a URL that may hold a password.
 */
export function parseDatabaseUrl(url: string): DatabaseLocation {
  if (url === 'memory:') return { engine: 'memory' };
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  if (scheme === undefined) throw new RangeError(`not a database URL: expected ${forms}`);
  if (scheme !== 'sqlite') throw new RangeError(`this build has no driver for ${scheme}: databases yet; use ${forms}`);
  return { engine: 'sqlite', path: filePath(url.slice('sqlite:'.length)) };
}

/** The store that a URL names, not yet open. Its driver is loaded only now. */
export async function openStore(url: string): Promise<Store> {
  const location = parseDatabaseUrl(url);
  const { createSqliteStore } = await import('./sqlite-store.ts');
  return createSqliteStore(location.engine === 'memory' ? { memory: true } : { path: location.path });
}

function filePath(rest: string): string {
  const path = rest.startsWith('//') ? rest.slice(2) : rest;
  if (path === '' || (rest.startsWith('//') && !path.startsWith('/'))) {
    throw new RangeError(`a sqlite: URL names a file; expected ${forms}`);
  }
  if (path.endsWith('/') || path.includes('\0'))
    throw new RangeError(`not the name of a file: ${JSON.stringify(path)}`);
  return path;
}
