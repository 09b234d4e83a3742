export interface MysqlDatabase {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /**
   * The `--ssl-mode` of MySQL. `DISABLED`: not encrypted; `REQUIRED`: encrypted; `VERIFY_IDENTITY`: encrypted, with a
   * certificate for the server's host.
   */
  readonly sslMode: 'DISABLED' | 'REQUIRED' | 'VERIFY_IDENTITY';
}

const form = 'mysql://<user>[:<password>]@<host>[:3306]/<database>[?ssl-mode=DISABLED|REQUIRED|VERIFY_IDENTITY]';

/**
 * Parses `mysql://…` and `mariadb://…`. User, password and database are percent-decoded; `ssl-mode` defaults to
 * DISABLED. Throws a RangeError for an invalid URL, but does not check the scheme. The message of the error does not
 * contain the URL.
 */
export function parseMysqlUrl(url: string): MysqlDatabase {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed) throw refused('not a URL');
  const { hostname, port, username, password, pathname, searchParams, hash } = parsed;
  if (hostname === '' || username === '') throw refused('host and user are needed');
  const database = decoded(pathname.slice(1));
  // The database server limits names to 64 characters, and accepts no NUL. A slash is refused, because in a URL it is
  // usually a mistake.
  if (database === '' || database.length > 64 || /[/\0]/.test(database)) throw refused('not the name of a database');
  if (hash !== '') throw refused('percent-encode # in a user, password or database name');
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? 3306 : Number(port),
    user: decoded(username),
    password: decoded(password),
    database,
    sslMode: sslMode(searchParams),
  };
}

/** Returns the name of the database, for messages: its URL without user and password. */
export function nameOf({ host, port, database }: MysqlDatabase): string {
  return `mysql://${host.includes(':') ? `[${host}]` : host}:${port}/${database}`;
}

function sslMode(parameters: URLSearchParams): MysqlDatabase['sslMode'] {
  for (const name of parameters.keys()) if (name !== 'ssl-mode') throw refused('ssl-mode is the only parameter');
  const mode = parameters.get('ssl-mode') ?? 'DISABLED';
  if (mode !== 'DISABLED' && mode !== 'REQUIRED' && mode !== 'VERIFY_IDENTITY') throw refused('no such ssl-mode');
  return mode;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw refused('a percent sign is written as %25');
  }
}

function refused(reason: string): RangeError {
  return new RangeError(`not a MySQL URL (${reason}): expected ${form}`);
}
