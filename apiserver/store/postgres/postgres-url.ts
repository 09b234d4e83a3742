/**
 * The values of `target_session_attrs`: all sessions are accepted, only those whose transactions may write, or only
 * those of a server that is not a standby.
 */
const sessionAttributes = ['any', 'read-write', 'primary'] as const;

export type SessionAttributes = (typeof sessionAttributes)[number];

/** The servers in a URL. The first suitable one is used. */
export interface PostgresServers {
  /** A URL for each server, as the driver expects it, in the order of the attempts. The URLs may contain a password. */
  readonly urls: readonly string[];
  readonly attributes: SessionAttributes;
}

interface Parts {
  readonly scheme: string;
  /** The user and the password, with the `@` after them. */
  readonly user: string;
  readonly authority: string;
  /** The path, with the slash before it. */
  readonly path: string;
  readonly query: string;
}

const readHere: ReadonlySet<string> = new Set(['host', 'port', 'target_session_attrs']);

/** The maximum number of hosts. It is limited because all hosts may have to be tried. */
const maxHosts = 8;

const form =
  'postgres://[<user>[:<password>]@]<host>[:<port>][,<host>[:<port>]…]/<database>[?target_session_attrs=any|read-write|primary]';

/**
 * Parses `postgres://…` and `postgresql://…` like libpq. A URL may have several hosts, separated by commas; `host` and
 * `port` in the query override those before the path. A single port applies to all hosts. With several hosts,
 * `target_session_attrs` is `read-write` by default, because the store writes. The driver parses all other parts.
 * Throws a RangeError for any other URL. The message of the error does not contain the URL.
 * https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS
 */
export function parsePostgresUrl(url: string): PostgresServers {
  const parts = partsOf(url);
  const parameters = new Map(new URLSearchParams(parts.query));
  const inAuthority = parts.authority.split(',').map(hostAndPort);
  const hosts = parameters.get('host')?.split(',').map(hostOfQuery) ?? inAuthority.map(({ host }) => host);
  const ports = parameters.get('port')?.split(',') ?? inAuthority.map(({ port }) => port);
  checkPorts(ports, hosts.length);
  if (hosts.length > maxHosts) throw refused(`more than ${maxHosts} hosts`);
  const several = hosts.length > 1;
  if (several && hosts.includes('')) throw refused('one of several hosts has no name');
  const urls = several ? hosts.map((host, at) => urlOf(parts, host, ports[at] ?? ports[0])) : [url];
  if (!urls.every((each) => URL.canParse(each))) throw refused('a host or a user cannot be read');
  return { urls, attributes: attributesOf(parameters.get('target_session_attrs'), several) };
}

function partsOf(url: string): Parts {
  const found = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#@]*)(\/[^?#@]*)?(?:\?([^#]*))?$/i.exec(url);
  if (!found) throw refused('percent-encode /, ?, # and @ in a user, password or database name');
  const [, scheme = '', user = '', authority = '', path = '', query = ''] = found;
  return { scheme, user, authority, path, query };
}

function hostAndPort(text: string): { readonly host: string; readonly port: string } {
  const [, host, port = ''] = /^(\[[^\]]*\]|[^:[\]]*)(?::([^:]*))?$/.exec(text) ?? [];
  if (host === undefined) throw refused('an IPv6 address must be in brackets');
  return { host, port };
}

/**
 * Converts a host from the parameter `host` to the form of a host in a URL: puts an IPv6 address into brackets, and
 * percent-encodes the folder of a socket.
 */
function hostOfQuery(host: string): string {
  return host.includes(':') ? `[${host}]` : encodeURIComponent(host);
}

function checkPorts(ports: readonly string[], hosts: number): void {
  if (ports.length !== 1 && ports.length !== hosts) throw refused(`${ports.length} ports for ${hosts} hosts`);
  for (const port of ports) {
    if (port === '') continue;
    if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) throw refused('a port is 1 to 65535');
  }
}

function attributesOf(text: string | undefined, several: boolean): SessionAttributes {
  if (text === undefined) return several ? 'read-write' : 'any';
  const found = sessionAttributes.find((each) => each === text);
  if (!found) throw refused('target_session_attrs needs the value any, read-write or primary: the store has to write');
  return found;
}

/**
 * Returns the URL of one of several servers. It lacks the parameters that this module has read: the driver would use
 * `host` and `port` in the query instead of the host and port of this server.
 */
function urlOf(parts: Parts, host: string, port: string | undefined): string {
  const rest = parts.query.split('&').filter((each) => each !== '' && !readHere.has(nameOf(each)));
  const query = rest.length === 0 ? '' : `?${rest.join('&')}`;
  return `${parts.scheme}${parts.user}${host}${port ? `:${port}` : ''}${parts.path}${query}`;
}

function nameOf(parameter: string): string {
  return [...new URLSearchParams(parameter).keys()].join('');
}

function refused(reason: string): RangeError {
  return new RangeError(`not the URL of a PostgreSQL server (${reason}): expected ${form}`);
}
