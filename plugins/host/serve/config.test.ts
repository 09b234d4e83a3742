import { expect } from 'chai';
import { chmodSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { readConfig } from './config.ts';
import type { ServeConfig } from './config.ts';
import { makeFolder, removeFolders } from '../package/plugin-folder.fixture.ts';

function read(flags: object, environment: Readonly<Record<string, string>> = {}): ServeConfig {
  return readConfig({ flags: flags as Readonly<Record<string, unknown>>, environment });
}

describe('the configuration of serve', () => {
  after(removeFolders);

  it('consists of the defaults when no option is set', () => {
    expect(read({})).to.deep.equal({
      database: 'sqlite:./data/homeostat.db',
      databaseOrigin: 'the default',
      host: '127.0.0.1',
      port: 8700,
      processes: 1,
      hasWorkers: false,
      plugins: [],
      hostNames: [],
      serviceDomain: 'homeostat.internal',
      auth: 'required',
      adminKubeconfig: 'data/admin.kubeconfig',
      insecure: false,
      retention: {},
      logLevel: 'info',
      hints: false,
      console: true,
      strict: false,
    });
  });

  it('allows several processes on databases that processes can share, and refuses other databases with the reason', () => {
    const database = 'postgres://localhost/h';
    expect(read({ database, processes: '3' }).processes).to.equal(3);
    expect(read({ database: 'etcd://localhost/h' }, { HOMEOSTAT_PROCESSES: 'auto' }).processes).to.be.at.least(1);
    expect(read({ processes: '1' }).processes).to.equal(1);
    for (const wrong of ['0', 'x', '65', '1.5', '-1'])
      expect(() => read({ database, processes: wrong }), wrong).to.throw(
        `--processes: must be auto or a whole number from 1 to 64, not "${wrong}"`,
      );
    const alone: Readonly<Record<string, string>> = {
      'sqlite:./x.db':
        'only one process can open a SQLite file, because a second one would not see the changes of the first: use --workers instead',
      'memory:': 'a database in memory exists only in one process: choose PostgreSQL, MySQL or etcd with --database',
    };
    for (const [url, why] of Object.entries(alone))
      expect(() => read({ database: url, processes: '2' }), url).to.throw(`--processes: ${why}`);
    expect(() => read({ database, processes: '2', 'audit-log': 'audit.log' })).to.throw(
      'only one process can write an audit log',
    );
  });

  it('allows --workers with a SQLite file, and refuses it with any other database, with the reason', () => {
    const most = Math.min(64, 4 * availableParallelism());
    expect(read({ workers: '2' })).to.include({ processes: 2, hasWorkers: true });
    expect(read({ workers: '1' })).to.include({ processes: 1, hasWorkers: false });
    expect(read({}, { HOMEOSTAT_WORKERS: 'auto' }).processes).to.equal(
      Math.min(64, Math.max(1, availableParallelism() - 2)),
    );
    for (const wrong of ['0', '-1', 'x', '1.5', '', String(most + 1), '1000'])
      expect(() => read({ workers: wrong }), wrong).to.throw(
        `--workers: must be auto or a whole number from 1 to ${most}, at most 4 for each core, not "${wrong}"`,
      );
    const refusals: readonly (readonly [flags: object, message: string])[] = [
      ...['postgres://localhost/h', 'mysql://localhost/h', 'etcd://localhost:2379/h'].map(
        (database) => [{ database }, '--workers: is for SQLite: with this --database, use --processes'] as const,
      ),
      [{ database: 'memory:' }, '--workers: workers need a database in a file: choose --database sqlite:<file>'],
      [{ processes: '2' }, '--workers: is for SQLite, and --processes is for other databases: leave one of them out'],
      [{ 'audit-log': 'audit.log' }, '--workers: only one process can write an audit log: leave out --audit-log'],
    ];
    for (const [flags, message] of refusals) expect(() => read({ workers: '2', ...flags })).to.throw(message);
  });

  it('finds the path of admin.kubeconfig; with isOpenByDefault, --auth defaults to open only on loopback without a token', () => {
    expect(read({ database: 'sqlite:/var/lib/h/x.db' }).adminKubeconfig).to.equal('/var/lib/h/admin.kubeconfig');
    expect(read({ database: 'memory:' }).adminKubeconfig).to.equal('data/admin.kubeconfig');
    const authOf = (flags: Readonly<Record<string, unknown>>): string =>
      readConfig({ flags, environment: {}, isOpenByDefault: true }).auth;
    expect(authOf({})).to.equal('open');
    expect(authOf({ auth: 'required' })).to.equal('required');
    expect(authOf({ token: 'sixteen-letters!' })).to.equal('required');
    expect(authOf({ host: '0.0.0.0', insecure: true })).to.equal('required');
  });

  it('prefers a flag to the environment, the environment to the file, and the file to the default', async () => {
    const folder = await makeFolder({ 'c.yaml': 'port: 1\nhost: localhost\nlog-level: warn\nhints: true\n' });
    const environment = { HOMEOSTAT_PORT: '2', HOMEOSTAT_LOG_LEVEL: 'error' };
    const config = read({ port: '3', config: join(folder, 'c.yaml') }, environment);
    expect(config).to.include({ port: 3, logLevel: 'error', host: 'localhost', hints: true });
    expect(config.serviceDomain).to.equal('homeostat.internal');
  });

  it('reads the file that HOMEOSTAT_CONFIG names; its plugin folders are relative to the file', async () => {
    const folder = await makeFolder({ 'c.yaml': 'plugin: [plugins/a, /b]\nhost-name: [x.example.com]\n' });
    const config = read({}, { HOMEOSTAT_CONFIG: join(folder, 'c.yaml') });
    expect(config.plugins).to.deep.equal([join(folder, 'plugins/a'), '/b']);
    expect(config.hostNames).to.deep.equal(['x.example.com']);
  });

  it('reads --service-map and --webhook-allow, and refuses malformed values', () => {
    const config = read({ 'service-map': ['shop/hooks=https://localhost:9443'], 'webhook-allow': ['*.example.com'] });
    expect(config.webhookServices).to.deep.equal({ 'shop/hooks': 'https://localhost:9443' });
    expect(config.webhookHosts).to.deep.equal(['*.example.com']);
    expect(() => read({ 'service-map': ['hooks=https://localhost'] })).to.throw(/must be <namespace>\/<name>=https/);
    expect(() => read({ 'service-map': ['a/b=https://x', 'a/b=https://y'] })).to.throw(/has two addresses/);
    expect(() => read({ 'webhook-allow': ['https://x'] })).to.throw(/is not a host/);
  });

  it('reads the limits of the history, and refuses values out of bounds', () => {
    const flags = { 'history-seconds': '60', 'history-changes': '5', 'history-mib': '2' };
    expect(read(flags).retention).to.deep.equal({ minAgeMs: 60_000, minChanges: 5, maxBytes: 2_097_152 });
    expect(() => read({ 'history-seconds': '0' })).to.throw(
      '--history-seconds: must be a whole number from 1 to 604800',
    );
    expect(() => read({ 'history-mib': '20000' })).to.throw('--history-mib: must be a whole number from 1 to 16384');
  });

  it('reads --event-ttl as a time with one unit, and refuses other values', () => {
    expect(['90s', '30m', '24h'].map((time) => read({ 'event-ttl': time }).eventTtlMs)).to.deep.equal([
      90_000, 1_800_000, 86_400_000,
    ]);
    for (const time of ['60', '0s', '1d', '-1h', '8761h', '1h30m']) {
      expect(() => read({ 'event-ttl': time }), time).to.throw('--event-ttl: must be a time such as 90s, 30m or 24h');
    }
  });

  it('accepts --anonymous-auth, but not with --auth open', () => {
    expect(read({ 'anonymous-auth': true })).to.include({ auth: 'required', anonymousAuth: true });
    expect(read({})).to.not.have.property('anonymousAuth');
    expect(() => read({ auth: 'open', 'anonymous-auth': true })).to.throw(
      '--anonymous-auth: has no effect without --auth required',
    );
  });

  it('reads the limits for each user and each client address, and refuses values out of bounds', () => {
    const limits = { maxWatchesPerUser: 5, maxUnknownConnectionsPerAddress: 7 };
    const flags = { 'max-watches-per-user': '5', 'max-unknown-connections-per-address': '7' };
    expect(read(flags)).to.deep.include(limits);
    expect(read({})).not.to.have.any.keys(...Object.keys(limits));
    for (const option of Object.keys(flags)) {
      expect(() => read({ [option]: '0' })).to.throw(`--${option}: must be a whole number from 1 to 1000000`);
    }
  });

  it('splits lists in the environment at commas, and reads "true" as a switch that is on', () => {
    const config = read({}, { HOMEOSTAT_PLUGIN: '/a,/b', HOMEOSTAT_INSECURE: 'true', HOMEOSTAT_HOST: '0.0.0.0' });
    expect(config).to.deep.include({ plugins: ['/a', '/b'], insecure: true, host: '0.0.0.0' });
  });

  it('sets leaderElection to the value of --leader-elect, and leaves it out when this option is not set', () => {
    expect(read({})).not.to.have.property('leaderElection');
    expect(read({ 'leader-elect': true }).leaderElection).to.equal(true);
    expect(read({ 'leader-elect': 'false' }).leaderElection).to.equal(false);
    expect(read({}, { HOMEOSTAT_LEADER_ELECT: 'false' }).leaderElection).to.equal(false);
    expect(() => read({ 'leader-elect': 'no' })).to.throw('--leader-elect: must be true or false, not "no"');
  });

  it('reports all bad values at once, each with its source', async () => {
    const folder = await makeFolder({ 'c.yaml': 'log-level: loud\nhost-name: 7\nport: 80.5\nservice-domain: local\n' });
    const file = join(folder, 'c.yaml');
    expect(() => read({ config: file }, { HOMEOSTAT_PORT: '99999', HOMEOSTAT_INSECURE: 'maybe' }))
      .to.throw()
      .with.property('message')
      .that.equals(
        [
          'HOMEOSTAT_INSECURE: must be true or false, not "maybe"',
          'HOMEOSTAT_PORT: must be a whole number from 0 to 65535, not "99999"',
          `${file}: host-name: must be a list of texts`,
          `${file}: service-domain: must have at least one dot`,
          `${file}: log-level: must be one of debug, info, warn, error, silent, not "loud"`,
        ].join('\n'),
      );
  });

  it('refuses unknown keys of the file, and names them', async () => {
    const folder = await makeFolder({ 'c.yaml': 'prot: 80\nconfig: other.yaml\n' });
    expect(() => read({ config: join(folder, 'c.yaml') }))
      .to.throw('prot: is not an option; the options are database, host, port')
      .with.property('message')
      .that.includes('config: is not an option');
  });

  it('refuses a file that is missing or not YAML, with an error that names the option', async () => {
    const folder = await makeFolder({ 'bad.yaml': 'a: [\n' });
    expect(() => read({ config: '/nowhere.yaml' })).to.throw('--config: /nowhere.yaml: ENOENT');
    expect(() => read({}, { HOMEOSTAT_CONFIG: join(folder, 'bad.yaml') })).to.throw(/^HOMEOSTAT_CONFIG: .*line 2/);
  });

  it('accepts a token of 16 to 1,024 printable characters from any source', async () => {
    const token = 'sixteen-letters!';
    const folder = await makeFolder({ 'c.yaml': `token: "${token}"\n` });
    chmodSync(join(folder, 'c.yaml'), 0o600);
    expect(read({ token }).token).to.equal(token);
    expect(read({}, { HOMEOSTAT_TOKEN: token }).token).to.equal(token);
    expect(read({ config: join(folder, 'c.yaml') }).token).to.equal(token);
    expect(read({ token: 'x'.repeat(1024) }).token).to.have.length(1024);
  });

  const secrets = [
    'token: sixteen-letters!',
    'database: postgres://me:secret@host/db',
    'database: postgres://host/db?password=secret@',
    'database: mysql://host/db?user=me&password=secret@',
  ];
  for (const secret of secrets)
    it(`refuses a file with a secret that other users can read or write: ${secret}`, async () => {
      const folder = await makeFolder({ 'c.yaml': `${secret}\n`, 'plain.yaml': 'port: 1\n' });
      const config = join(folder, 'c.yaml');
      for (const mode of [0o644, 0o604, 0o602, 0o660]) {
        chmodSync(config, mode);
        const octal = mode.toString(8).padStart(4, '0');
        expect(() => read({ config }))
          .to.throw(`(mode ${octal}): chmod 600 it`)
          .with.property('message')
          .not.contain('secret@');
      }
      chmodSync(config, 0o600);
      expect(read({ config })).to.be.an('object');
      chmodSync(join(folder, 'plain.yaml'), 0o644);
      expect(read({ config: join(folder, 'plain.yaml') }).port).to.equal(1);
    });

  it('accepts IP addresses and networks as trusted proxies, and refuses other values', () => {
    expect(read({ 'trusted-proxy': ['10.0.0.0/8', '::1'] }).trustedProxies).to.deep.equal(['10.0.0.0/8', '::1']);
    expect(() => read({}, { HOMEOSTAT_TRUSTED_PROXY: '10.0.0.1,proxy' })).to.throw(
      'HOMEOSTAT_TRUSTED_PROXY: "proxy" is not an IP address or network, such as 10.1.2.3 or 10.0.0.0/8',
    );
  });

  it('refuses malformed tokens with a message that does not contain the token', async () => {
    for (const secret of [
      'fifteen-letters',
      'a secret of many words',
      'schlüsselschlüssel',
      'x'.repeat(1025),
      'x\ny'.repeat(9),
    ]) {
      expect(() => read({ token: secret }))
        .to.throw('--token: must be 16 to 1024 printable ASCII characters, without spaces')
        .with.property('message')
        .that.does.not.include(secret);
      expect(() => read({}, { HOMEOSTAT_TOKEN: secret })).to.throw(/^HOMEOSTAT_TOKEN: must be/);
    }
    for (const yaml of [
      'token: sk-0123456789abcdef\nport: [\n',
      'token: *sk-0123456789abcdef\n',
      'token: [sk-0123456789abcdef]\n',
    ]) {
      const folder = await makeFolder({ 'c.yaml': yaml });
      expect(() => read({ config: join(folder, 'c.yaml') }))
        .to.throw('c.yaml')
        .with.property('message')
        .that.does.not.include('0123456789');
    }
  });

  it('allows an address other than loopback only with --tls or --insecure', () => {
    expect(() => read({ host: '0.0.0.0' })).to.throw(
      '--host: "0.0.0.0" is not 127.0.0.1, ::1 or localhost: add --tls, or --insecure',
    );
    expect(read({ host: '0.0.0.0', insecure: true }).host).to.equal('0.0.0.0');
    expect(read({ host: '0.0.0.0', tls: true }).host).to.equal('0.0.0.0');
  });

  it('refuses --auth open on an address other than loopback, and together with a token', () => {
    for (const [flags, text] of [
      [
        { auth: 'open', host: '0.0.0.0', insecure: true },
        '--auth: "open" accepts every request, so it is for loopback',
      ],
      [{ auth: 'open', token: 'sixteen-letters!' }, '--auth: "open" accepts requests without a credential'],
      [{ auth: 'closed' }, '--auth: must be one of required, open, not "closed"'],
    ] as const)
      expect(() => read(flags)).to.throw(text);
    expect(read({ auth: 'open' }).auth).to.equal('open');
  });

  it('puts the folder of the TLS authority beside the SQLite file, or into data, unless an option names another folder', () => {
    const folderOf = (flags: object): unknown => read({ tls: true, ...flags }).tls;
    expect(folderOf({})).to.deep.equal({ directory: 'data/tls' });
    expect(folderOf({ database: 'sqlite:h.db' })).to.deep.equal({ directory: 'tls' });
    expect(folderOf({ database: 'sqlite:///srv/homeostat/h.db' })).to.deep.equal({ directory: '/srv/homeostat/tls' });
    expect(folderOf({ database: 'postgres://db.example.com/homeostat' })).to.deep.equal({ directory: 'data/tls' });
    expect(folderOf({ 'tls-dir': '/etc/homeostat' })).to.deep.equal({ directory: '/etc/homeostat' });
    expect(read({}, { HOMEOSTAT_TLS: 'true' }).tls).to.deep.equal({ directory: 'data/tls' });
    expect(read({}, { HOMEOSTAT_TLS_DIR: '/etc/homeostat' }).tls).to.deep.equal({ directory: '/etc/homeostat' });
  });

  it('accepts a certificate together with its key, but not one of them alone', async () => {
    const files = { 'tls-cert': 'a.crt', 'tls-key': 'a.key' };
    expect(read(files).tls).to.deep.equal({ certFile: 'a.crt', keyFile: 'a.key' });
    const folder = await makeFolder({ 'c.yaml': 'tls: true\ntls-cert: a.crt\n' });
    expect(() => read({ config: join(folder, 'c.yaml') })).to.throw(
      'c.yaml: tls-cert: needs its private key: --tls-key',
    );
    expect(() => read({ 'tls-key': 'a.key' })).to.throw('--tls-key: needs its certificate: --tls-cert');
    expect(() => read({ ...files, 'tls-dir': 'd' })).to.throw('--tls-dir: makes the server issue its own certificate');
  });
});
