/**
 * An option of `homeostat serve`. The flag, the key in the configuration file and the variable HOMEOSTAT_<NAME> all
 * have its name.
 */
export interface ServeOption {
  readonly kind: 'text' | 'whole number' | 'whole number or auto' | 'switch' | 'list';
  /** The placeholder for the value in the help text. */
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
  | 'auth'
  | 'anonymous-auth'
  | 'token'
  | 'token-file'
  | 'encryption-config'
  | 'authentication-config'
  | 'service-account-issuer'
  | 'tls'
  | 'tls-cert'
  | 'tls-key'
  | 'tls-dir'
  | 'client-ca'
  | 'insecure'
  | 'trusted-proxy'
  | 'service-map'
  | 'webhook-allow'
  | 'history-seconds'
  | 'history-changes'
  | 'history-mib'
  | 'event-ttl'
  | 'audit-log'
  | 'audit-policy'
  | 'audit-log-max-size'
  | 'audit-log-max-age'
  | 'audit-log-max-backups'
  | 'audit-required'
  | 'max-watches-per-user'
  | 'max-unknown-connections-per-address'
  | 'leader-elect'
  | 'processes'
  | 'workers'
  | 'report-runs'
  | 'log-level'
  | 'log-format'
  | 'strict'
  | 'console'
  | 'hints';

/** The options, in the order of the help text. This file imports nothing, so that `--help` loads few files. */
export const serveOptions: Readonly<Record<ServeOptionName, ServeOption>> = {
  database: {
    kind: 'text',
    value: '<url>',
    description:
      'where objects are stored: sqlite:<file>, postgres://…, mysql://…, etcd://… or memory: (default: sqlite:./data/homeostat.db)',
  },
  host: { kind: 'text', value: '<address>', description: 'address on which the server listens (default: 127.0.0.1)' },
  port: {
    kind: 'whole number',
    value: '<number>',
    description: 'port on which the server listens; with 0, the server picks a free port (default: 8700)',
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
    description: 'YAML file with options of `homeostat serve` except this one, under the same names',
  },
  'host-name': {
    kind: 'list',
    value: '<name>',
    description: 'host name that requests may have as Host, besides the loopback names and --host; may be repeated',
  },
  'service-domain': {
    kind: 'text',
    value: '<domain>',
    description:
      'domain of the kinds of the server itself; it is reserved: plugins cannot declare anything in it (default: homeostat.internal)',
  },
  auth: {
    kind: 'text',
    value: '<mode>',
    description:
      'required: requests need a credential; open: all requests from this machine may do everything (default: required, but open for homeostat dev)',
  },
  'anonymous-auth': {
    kind: 'switch',
    description:
      'accept requests without a credential as the user system:anonymous, with the permissions of the group system:unauthenticated (default: refuse these requests with 401)',
  },
  token: {
    kind: 'text',
    value: '<secret>',
    description:
      "the administrator's token; give it in HOMEOSTAT_TOKEN, because other users of the machine can see flags (default: a token that the server makes, in admin.kubeconfig beside the SQLite file or, for other databases, in ./data)",
  },
  'encryption-config': {
    kind: 'text',
    value: '<file>',
    description:
      'YAML file of kind EncryptionConfiguration: the kinds that are encrypted in the database, and the keys (default: Secrets, with the key in encryption.key beside the SQLite file, else in ./data)',
  },
  'token-file': {
    kind: 'text',
    value: '<file>',
    description:
      'YAML file of further tokens: the SHA-256 of each, with its user and groups; other users of the machine must have no access to the file',
  },
  'authentication-config': {
    kind: 'text',
    value: '<file>',
    description:
      'YAML file of foreign issuers of tokens (OpenID Connect): an AuthenticationConfiguration; other users of the machine must have no access to the file',
  },
  'service-account-issuer': {
    kind: 'text',
    value: '<url>',
    description: "issuer of service accounts' tokens (default: https://<service domain>)",
  },
  tls: {
    kind: 'switch',
    description: 'the server uses HTTPS: with --tls-cert if it is given, else with a certificate of its own authority',
  },
  'tls-cert': {
    kind: 'text',
    value: '<file>',
    description: "PEM file of the server's certificate, followed by intermediate certificates",
  },
  'tls-key': { kind: 'text', value: '<file>', description: "PEM file of the certificate's private key" },
  'tls-dir': {
    kind: 'text',
    value: '<folder>',
    description:
      "folder of the server's own certificate authority (default: tls beside the SQLite file, else ./data/tls)",
  },
  'client-ca': {
    kind: 'text',
    value: '<file>',
    description: "PEM file of the authorities that sign clients' certificates (default: the server's own authority)",
  },
  insecure: {
    kind: 'switch',
    description: 'without --tls: the server may listen without encryption on an address that is not a loopback address',
  },
  'trusted-proxy': {
    kind: 'list',
    value: '<address>',
    description:
      'address or network (10.0.0.0/8) of a proxy whose X-Forwarded-Proto and X-Forwarded-For are trusted; may be repeated',
  },
  'service-map': {
    kind: 'list',
    value: '<namespace>/<name>=https://<host>:<port>',
    description:
      'address at which the server calls a Service that a webhook names, because the server routes no traffic to Services; may be repeated',
  },
  'webhook-allow': {
    kind: 'list',
    value: '<host>',
    description:
      'host of webhooks that the server may call, as <host>, <host>:<port> or *.<domain>; may be repeated (default: every host; never link-local and metadata addresses)',
  },
  'history-seconds': {
    kind: 'whole number',
    value: '<number>',
    description: 'minimum time in seconds for which changes are kept, so that watches can resume (default: 300)',
  },
  'history-changes': {
    kind: 'whole number',
    value: '<number>',
    description: 'minimum number of changes that are kept (default: 10000)',
  },
  'history-mib': {
    kind: 'whole number',
    value: '<number>',
    description:
      'maximum size of the kept changes, in MiB of objects; above it, the oldest are dropped, even if --history-seconds or --history-changes would keep them (default: 256, or an eighth of the memory of the container or machine if this is less)',
  },
  'event-ttl': {
    kind: 'text',
    value: '<time>',
    description: 'time from the last occurrence of an event to its deletion, such as 90s, 30m or 24h (default: 1h)',
  },
  'audit-log': {
    kind: 'text',
    value: '<file>',
    description: 'record each request in this file, which only its owner can read (default: none)',
  },
  'audit-policy': {
    kind: 'text',
    value: '<file>',
    description: 'YAML file with a Policy of audit.k8s.io/v1 (default: each request, without bodies)',
  },
  'audit-log-max-size': {
    kind: 'whole number',
    value: '<number>',
    description: 'the audit log is rotated at this size, in MiB (default: 100)',
  },
  'audit-log-max-age': {
    kind: 'whole number',
    value: '<number>',
    description:
      'the audit log is rotated at this age, in days; a rotated file is deleted this many days later (default: never)',
  },
  'audit-log-max-backups': {
    kind: 'whole number',
    value: '<number>',
    description: 'number of rotated audit logs that are kept (default: 10)',
  },
  'audit-required': {
    kind: 'switch',
    description: 'refuse a write (503) when its audit entry cannot be written',
  },
  'max-watches-per-user': {
    kind: 'whole number',
    value: '<number>',
    description:
      'maximum number of concurrent watches of one user; further watches get 429 (default: 1000; with --auth open no limit)',
  },
  'max-unknown-connections-per-address': {
    kind: 'whole number',
    value: '<number>',
    description:
      'maximum number of connections from one address that have not sent a valid credential yet; requests on further connections get 429 (default: 256; with --auth open no limit)',
  },
  'leader-elect': {
    kind: 'switch',
    value: '[true|false]',
    description:
      'run the controllers of a plugin in only one of the servers that share a database (default: true for PostgreSQL, MySQL and etcd, and with several --workers)',
  },
  processes: {
    kind: 'whole number or auto',
    value: '<number>',
    description:
      'serve with this many processes behind one port, on PostgreSQL, MySQL or etcd; auto: as many as the machine has cores (default: 1)',
  },
  workers: {
    kind: 'whole number or auto',
    value: '<number>',
    description:
      'serve SQLite with this many worker processes behind one port; 1 (the default) means one process without workers; auto: two fewer than the machine has cores, but at least one',
  },
  'report-runs': {
    kind: 'switch',
    value: '[true|false]',
    description: 'store objects of the kinds Run and Controller, which show what controllers do (default: true)',
  },
  'log-level': {
    kind: 'text',
    value: '<level>',
    description: 'minimum level that is logged: debug, info, warn, error or silent (default: info)',
  },
  'log-format': {
    kind: 'text',
    value: '<format>',
    description: 'json, or pretty: lines for people (default: pretty at a terminal, json elsewhere)',
  },
  strict: { kind: 'switch', description: 'stop with exit code 1 when a plugin of --plugin fails' },
  console: {
    kind: 'switch',
    value: '[true|false]',
    description: 'serve the console at /console/; --no-console turns it off (default: true)',
  },
  hints: { kind: 'switch', description: 'once the server is ready, print on stderr some commands to try' },
};

/** Returns the name of the environment variable of an option. */
export function environmentName(option: string): string {
  return `HOMEOSTAT_${option.toUpperCase().replaceAll('-', '_')}`;
}
