/** The sessions to accept: all, those whose transactions may write, or those of a server that is no standby. */
const sessionAttributes = ['any', 'read-write', 'primary'] as const;

export type SessionAttributes = (typeof sessionAttributes)[number];

/** The servers that a URL lists; the first suitable one is used. */
export interface PostgresServers {
  /** A URL for each server, in the driver's form and in the order to try. They may contain a password. */
  readonly urls: readonly string[];
  readonly attributes: SessionAttributes;
}

interface Parts {
  readonly scheme: string;
  /** The user and the password, with the `@` behind them. */
  readonly user: string;
  readonly authority: string;
  /** The path, with its slash. */
  readonly path: string;
  readonly query: string;
}

const readHere: ReadonlySet<string> = new Set(['host', 'port', 'target_session_attrs']);

/** The maximum number of hosts, since all may have to be tried. */
const maxHosts = 8;

const form =
  'postgres://[<user>[:<password>]@]<host>[:<port>][,<host>[:<port>]…]/<database>[?target_session_attrs=any|read-write|primary]';

/**
 * Parses `postgres://…` and `postgresql://…` like libpq: several hosts separated by commas, or as `host` and `port` in
 * the query, which override those before the path; a single port applies to all. With several hosts the session
 * attribute defaults to `read-write`, since the store writes. The driver parses everything else. Throws a RangeError
 * for any other URL; the message does not quote it.
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
  if (!found) throw refused('percent-encode /, ?, # and @ in a user, password or name');
  const [, scheme = '', user = '', authority = '', path = '', query = ''] = found;
  return { scheme, user, authority, path, query };
}

function hostAndPort(text: string): { readonly host: string; readonly port: string } {
  const [, host, port = ''] = /^(\[[^\]]*\]|[^:[\]]*)(?::([^:]*))?$/.exec(text) ?? [];
  if (host === undefined) throw refused('an IPv6 address must be in brackets');
  return { host, port };
}

/** The host in the form that a URL has before the path: an IPv6 address in brackets, the folder of a socket encoded. */
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
  if (!found) throw refused('target_session_attrs must be any, read-write or primary, since the store has to write');
  return found;
}

/** Leaves out the parameters that are parsed here: the driver would use the host of the query for all servers. */
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
