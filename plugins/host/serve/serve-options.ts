/** One option of `homeostat serve`. Its name is that of the flag, of the key in the file, and of HOMEOSTAT_<NAME>. */
export interface ServeOption {
  readonly kind: 'text' | 'whole number' | 'switch' | 'list';
  /** Stands for the value in the help. */
  readonly value?: string;
  readonly description: string;
}

export type ServeOptionName =
  | 'database'
  | 'host'
  | 'port'
  | 'plugin'
  | 'plugins-dir'
  | 'config'
  | 'host-name'
  | 'service-domain'
  | 'token'
  | 'tls'
  | 'tls-cert'
  | 'tls-key'
  | 'tls-dir'
  | 'insecure'
  | 'trusted-proxy'
  | 'history-seconds'
  | 'history-changes'
  | 'history-mib'
  | 'event-ttl'
  | 'leader-elect'
  | 'log-level'
  | 'strict'
  | 'hints';

/** The options, as the help lists them. No import, so that `--help` loads nothing. */
export const serveOptions: Readonly<Record<ServeOptionName, ServeOption>> = {
  database: {
    kind: 'text',
    value: '<url>',
    description:
      'where objects are stored: sqlite:<file>, postgres://…, mysql://… or memory: (default: sqlite:./data/homeostat.db)',
  },
  host: { kind: 'text', value: '<address>', description: 'address to listen on (default: 127.0.0.1)' },
  port: {
    kind: 'whole number',
    value: '<number>',
    description: 'port to listen on; 0 takes a free one (default: 8700)',
  },
  plugin: { kind: 'list', value: '<folder>', description: 'folder of a plugin; may be repeated' },
  'plugins-dir': {
    kind: 'text',
    value: '<folder>',
    description:
      'existing folder of the plugins that `homeostat plugin install` installs; the server runs all of them (default: none)',
  },
  config: {
    kind: 'text',
    value: '<file>',
    description: 'YAML file that holds any of these options, by the same names',
  },
  'host-name': {
    kind: 'list',
    value: '<name>',
    description: 'host name to answer to, besides the loopback names and --host; may be repeated',
  },
  'service-domain': {
    kind: 'text',
    value: '<domain>',
    description: "domain of the service's own kinds, which plugins may not use (default: homeostat.internal)",
  },
  token: {
    kind: 'text',
    value: '<secret>',
    description:
      'bearer token that every request but health must send; better in HOMEOSTAT_TOKEN, since flags show in ps (default: none)',
  },
  tls: {
    kind: 'switch',
    description: "serve HTTPS, by a certificate of the server's own authority, or that of --tls-cert",
  },
  'tls-cert': {
    kind: 'text',
    value: '<file>',
    description: "PEM file of the server's certificate, and of those between it and its authority",
  },
  'tls-key': { kind: 'text', value: '<file>', description: 'PEM file of its private key' },
  'tls-dir': {
    kind: 'text',
    value: '<folder>',
    description: "folder of the server's own authority (default: tls beside the SQLite file, else ./data/tls)",
  },
  insecure: {
    kind: 'switch',
    description: 'without --tls: listen on an address that is not a loopback one, in the clear',
  },
  'trusted-proxy': {
    kind: 'list',
    value: '<address>',
    description:
      'address or network (10.0.0.0/8) of a proxy whose X-Forwarded-Proto and X-Forwarded-For are believed; may be repeated',
  },
  'history-seconds': {
    kind: 'whole number',
    value: '<number>',
    description: 'changes that watches can resume from are kept for so long at least (default: 300)',
  },
  'history-changes': {
    kind: 'whole number',
    value: '<number>',
    description: 'and so many of them at least (default: 10000)',
  },
  'history-mib': {
    kind: 'whole number',
    value: '<number>',
    description: 'but no more of them than this, in MiB of objects (default: 256)',
  },
  'event-ttl': {
    kind: 'text',
    value: '<time>',
    description: 'events are deleted so long after they last occurred: 90s, 30m or 24h, say (default: 1h)',
  },
  'leader-elect': {
    kind: 'switch',
    value: '[true|false]',
    description:
      'of all servers on one database, let one run the controllers of a plugin (default: true for PostgreSQL and MySQL)',
  },
  'log-level': {
    kind: 'text',
    value: '<level>',
    description: 'least level that is logged: debug, info, warn, error or silent (default: info)',
  },
  strict: { kind: 'switch', description: 'stop with exit code 1 when a plugin of --plugin fails' },
  hints: { kind: 'switch', description: 'once ready, print commands to try on stderr' },
};

/** The environment variable of an option. */
export function environmentName(option: string): string {
  return `HOMEOSTAT_${option.toUpperCase().replaceAll('-', '_')}`;
}
