export interface EtcdDatabase {
  /** The address of each member as `host:port`; there is at least one. */
  readonly endpoints: readonly string[];
  /** The prefix of the keys. It starts with a slash and does not end with one, such as `/homeostat`. */
  readonly prefix: string;
  /** The files for TLS; undefined when the connections are not encrypted. */
  readonly tls: EtcdTlsFiles | undefined;
  /** The user with which the store logs in; undefined when it does not log in. */
  readonly user: EtcdUser | undefined;
}

export interface EtcdTlsFiles {
  /**
   * The path of a PEM file with the authorities of the members' certificates; undefined for the authorities that Node
   * knows.
   */
  readonly ca: string | undefined;
  /** The paths of PEM files with the client's certificate and its key. */
  readonly client: { readonly cert: string; readonly key: string } | undefined;
}

export interface EtcdUser {
  readonly name: string;
  readonly password: string;
}

const form = 'etcd://<host>:2379[,<host>:2379…]/<prefix>[?ca=<file>][&cert=<file>&key=<file>][&tls=true]';
const parameters = ['ca', 'cert', 'key', 'tls'];
const maxPrefixLength = 200;

/**
 * Parses `etcd://a:2379,b:2379,c:2379/prefix?ca=…&cert=…&key=…&tls=true`. All parameters are optional. The port
 * defaults to 2379. User and password come from `ETCDCTL_USER` (`name` or `name:password`) and `ETCDCTL_PASSWORD`, as
 * for etcdctl. Throws a RangeError for any other URL, and for a user without a password. The message of the error does
 * not contain the URL.
 */
export function parseEtcdUrl(url: string, env: NodeJS.ProcessEnv = process.env): EtcdDatabase {
  const [, authority = '', path = '', query = ''] = /^etcd:\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?$/i.exec(url) ?? [];
  if (authority.includes('@')) {
    throw refused('user and password come from ETCDCTL_USER and ETCDCTL_PASSWORD, not from the URL');
  }
  if (authority === '') throw refused('a member is needed');
  return {
    endpoints: authority.split(',').map(endpointOf),
    prefix: prefixOf(path),
    tls: tlsOf(new URLSearchParams(query)),
    user: userOf(env),
  };
}

/** Returns the name of the database, for messages. */
export function nameOf({ endpoints, prefix }: EtcdDatabase): string {
  return `etcd://${endpoints.join(',')}${prefix}`;
}

function endpointOf(text: string): string {
  const parsed = URL.canParse(`http://${text}`) ? new URL(`http://${text}`) : undefined;
  // A parsed URL has no port 80, because this is the default of http, so the port is read from the text.
  const port = /:(\d+)$/.exec(text)?.[1] ?? '2379';
  if (text === '' || !parsed || parsed.hostname === '') throw refused('not the address of a member');
  return `${parsed.hostname}:${Number(port)}`;
}

function prefixOf(path: string): string {
  const prefix = decoded(path).replace(/\/+$/, '');
  if (prefix === '') throw refused('a prefix for all keys is needed, such as /homeostat');
  if (prefix.length > maxPrefixLength || !/^(\/[\w.-]+)+$/.test(prefix)) {
    throw refused(
      `a prefix may have at most ${maxPrefixLength} characters: letters, digits, ".", "_" and "-", and single slashes`,
    );
  }
  return prefix;
}

function tlsOf(query: URLSearchParams): EtcdTlsFiles | undefined {
  for (const name of query.keys()) {
    if (!parameters.includes(name)) throw refused('the only parameters are ca, cert, key and tls');
  }
  const [ca, cert, key, tls] = parameters.map((name) => query.get(name) ?? undefined);
  if (tls !== undefined && tls !== 'true') throw refused('tls must be true or absent');
  if ((cert === undefined) !== (key === undefined)) throw refused('cert and key belong together');
  if ([ca, cert, key].includes('')) throw refused('ca, cert and key must be paths of files');
  if (ca === undefined && cert === undefined && tls === undefined) return undefined;
  return { ca, client: cert === undefined || key === undefined ? undefined : { cert, key } };
}

function userOf(env: NodeJS.ProcessEnv): EtcdUser | undefined {
  const text = env['ETCDCTL_USER'];
  if (text === undefined || text === '') return undefined;
  const at = text.indexOf(':');
  const password = env['ETCDCTL_PASSWORD'];
  if (at < 0 && password === undefined) throw refused('ETCDCTL_USER is set, and ETCDCTL_PASSWORD is not');
  return at < 0 || password !== undefined
    ? { name: at < 0 ? text : text.slice(0, at), password: password ?? '' }
    : { name: text.slice(0, at), password: text.slice(at + 1) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw refused('a percent sign is written as %25');
  }
}

function refused(reason: string): RangeError {
  return new RangeError(`not an etcd URL (${reason}): expected ${form}`);
}
