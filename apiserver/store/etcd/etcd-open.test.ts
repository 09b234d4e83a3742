import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';
import { expect } from 'chai';

import { EtcdCluster, hasEtcd, missingEtcd } from './etcd-cluster.test-support.ts';
import { codecOf } from './etcd-messages.ts';
import { EtcdTestCluster, hurriedClock } from './etcd.test-support.ts';
import { parseEtcdUrl } from './etcd-url.ts';
import { create, rejectionOf, scanned, written } from '../store-operations.fixture.ts';

const run = promisify(execFile);
const password = 'swordfish-8125';

const failure = async (etcd: EtcdTestCluster, url: string, env: NodeJS.ProcessEnv = {}): Promise<string> => {
  const error = await rejectionOf(etcd.store(url, { database: parseEtcdUrl(url, env), clock: hurriedClock }).open());
  expect(error).to.have.property('name', 'StoreError');
  const { code, message, stack, cause } = error as Error & { readonly code: string };
  expect(JSON.stringify([message, stack, String(cause)])).not.to.include(password);
  return `${code}: ${message}`;
};

describe('an etcd store that is opened', () => {
  const etcd = EtcdTestCluster.use({ size: 1 });
  const all = async (): Promise<string> => etcd.cluster.ctl(['get', '', '--prefix']);

  it('writes readable keys below the prefix', async () => {
    const url = etcd.cluster.url('/layout');
    const store = await etcd.open(url);
    await store.numberOf('kind:example.com/persons');
    await written(store, create('ada', '{"name":"Ada"}', [[1, 'ada@example.com']]));
    const lines = (await etcd.cluster.ctl(['get', '/layout/', '--prefix'])).split('\n');
    const after = (key: string): string | undefined => lines[lines.indexOf(key) + 1];
    expect(JSON.parse(after('/layout/head') ?? '')).to.include({ schema: 1, revision: 1, compactRevision: 0 });
    expect(after('/layout/object/1/registry/example.com/persons/ada')).to.equal('1');
    expect(lines[lines.indexOf('/layout/object/1/registry/example.com/persons/ada') + 2]).to.equal('{"name":"Ada"}');
    expect(after('/layout/claim/1/1/=ada@example.com')).to.equal('/registry/example.com/persons/ada');
    expect(after('/layout/number/kind:example.com/persons')).to.equal('1');
    expect(after('/layout/log/0000000000000001')).to.include('"op":"create"');
    expect(lines.filter((line) => line.startsWith('/layout/store/'))).to.have.lengthOf(1);
    await store.close();
    expect(await etcd.cluster.ctl(['get', '/layout/store/', '--prefix'])).to.equal('');
  });

  it('keeps two databases of one cluster apart', async () => {
    const [one, two] = [await etcd.open(etcd.cluster.url('/one')), await etcd.open(etcd.cluster.url('/one-2'))];
    await written(one, create('a', '1', [[1, 'v']]));
    expect(await written(two, create('a', '1', [[1, 'v']]))).to.deep.equal([1]);
    await one.compact(1, 10);
    expect(await two.changes(0, 10)).to.have.lengthOf(1);
    expect(await scanned(two)).to.have.lengthOf(1);
  });

  it('is refused with a prefix that has keys of another program, or that is below the prefix of another database', async () => {
    await etcd.cluster.ctl(['put', '/registry/pods/default/web', 'x']);
    expect(await failure(etcd, etcd.cluster.url('/registry'))).to.match(
      /^corrupt: .*keys of another program, such as "\/registry\/pods\/default\/web": use another prefix/,
    );
    await etcd.open(etcd.cluster.url('/outer'));
    const before = await all();
    expect(await failure(etcd, etcd.cluster.url('/outer/inner'))).to.include(
      'inside of the database with the prefix /outer',
    );
    await etcd.cluster.ctl(['put', '/other/head', 'x']);
    expect(await failure(etcd, etcd.cluster.url('/other'))).to.match(/^corrupt: .*head/);
    await etcd.cluster.ctl(['del', '/other/head']);
    expect(await all()).to.equal(before);
  });

  it('fails to open when a newer program has upgraded the database; a store that is already open refuses writes', async () => {
    const url = etcd.freshUrl();
    const store = await etcd.open(url);
    const { prefix } = parseEtcdUrl(url, {});
    const head = JSON.parse(await etcd.cluster.ctl(['get', `${prefix}/head`, '--print-value-only'])) as object;
    await etcd.cluster.ctl(['put', `${prefix}/head`, JSON.stringify({ ...head, schema: 2 })]);
    expect(await rejectionOf(store.commit([create('a', '1')]))).to.include({ code: 'newer' });
    expect(await rejectionOf(store.checkSchema())).to.include({ code: 'newer' });
    expect(await failure(etcd, url)).to.match(/^newer: .*schema version 2, this program knows 1: update Homeostat/);
  });

  it('gets the database exclusively only if no other store has it open; then no other store can open it', async () => {
    const url = etcd.freshUrl();
    const first = await etcd.open(url);
    await etcd.open(url);
    const alone = await rejectionOf(etcd.store(url, { exclusive: true }).open());
    expect(alone).to.include({ code: 'locked' });
    expect(String(alone)).to.include('in use by 2 processes');
    await etcd.closeStores();
    const exclusive = await etcd.open(url, { exclusive: true });
    await written(exclusive, create('a', '1'));
    expect(await failure(etcd, url)).to.match(/^locked: .*needs it exclusively/);
    expect(await rejectionOf(first.commit([create('b', '1')]))).to.include({ code: 'closed' });
    await exclusive.close();
    expect(await scanned(await etcd.open(url))).to.have.lengthOf(1);
  });

  it('refuses its writes once another store has the database exclusively', async () => {
    const url = etcd.freshUrl();
    const store = await etcd.open(url);
    const { prefix } = parseEtcdUrl(url, {});
    await etcd.cluster.ctl(['put', `${prefix}/exclusive`, 'another']);
    expect(await rejectionOf(store.commit([create('a', '1')]))).to.include({ code: 'locked' });
    await etcd.cluster.ctl(['del', `${prefix}/exclusive`]);
    await written(store, create('a', '1'));
  });

  it('fails with a message that names the member to which it cannot connect', async () => {
    expect(await failure(etcd, 'etcd://127.0.0.1:1/p')).to.match(
      /^io: cannot use etcd:\/\/127.0.0.1:1\/p at 127.0.0.1:1: .*ECONNREFUSED/,
    );
  });

  it('is refused when the version of the member is too old', async () => {
    const server = new GrpcServer();
    const { path, encode, decode } = codecOf('Maintenance/Status');
    const buffers = { requestSerialize: encode, requestDeserialize: () => ({}) };
    const method = { path, requestStream: false, responseStream: false, ...buffers, responseDeserialize: decode };
    const old = Buffer.concat([Buffer.of(0x12, 6), Buffer.from('3.3.27')]);
    server.addService(
      { status: { ...method, responseSerialize: () => old } },
      { status: (_: unknown, answer: (error: null, response: object) => void) => answer(null, {}) },
    );
    const bind = promisify(server.bindAsync.bind(server));
    const port = await bind('127.0.0.1:0', ServerCredentials.createInsecure());
    expect(await failure(etcd, `etcd://127.0.0.1:${port}/p`)).to.match(
      /^refused: .*etcd 3\.3\.27 is too old: 3\.4 or newer is needed/,
    );
    server.forceShutdown();
  });

  it('fails when the URL asks for TLS and the member does not use TLS, with a message that says what to do', async () => {
    const url = etcd.cluster.url('/p?tls=true');
    // The error has one of two messages. If the member closes the connection before it has read all of the first TLS
    // message, the kernel reports a reset, and the advice begins with "if the member does not use TLS".
    expect(await failure(etcd, url)).to.match(/^io: .*does not use TLS[;,] leave ca, cert, key and tls out/);
  });

  it('fails when the member resets a TLS connection, with a message that says how to connect without TLS [slow]', async () => {
    const server = createServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    expect(await failure(etcd, `etcd://127.0.0.1:${port}/p?tls=true`)).to.match(
      /^io: .*if the member does not use TLS, leave ca, cert, key and tls out/,
    );
    server.close();
  });

  it('fails when another program than etcd responds, with a message that says what to check', async () => {
    const server = createServer((socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    expect(await failure(etcd, `etcd://127.0.0.1:${port}/p`)).to.match(
      /^io: .*something other than etcd responds; check host and port/,
    );
    server.close();
  });

  it('is refused when the file of the parameter `ca` does not exist, and the message names the file', async () => {
    expect(await failure(etcd, etcd.cluster.url('/p?ca=/missing.pem'))).to.match(
      /^refused: the file of ca .*\/missing.pem/,
    );
  });

  it('rejects a second call of open, and can be closed without having been opened', async () => {
    const store = await etcd.open();
    expect(await rejectionOf(store.open())).to.include({ code: 'closed' });
    await etcd.store(etcd.freshUrl()).close();
  });
});

describe('an etcd store that is opened in a cluster with users [slow]', () => {
  const etcd = EtcdTestCluster.use({ size: 1 });
  const root = ['--user', `root:${password}`];

  before(async () => {
    const { cluster } = etcd;
    await cluster.ctl(['user', 'add', `root:${password}`]);
    for (const role of ['reader', 'writer']) {
      await cluster.ctl(['role', 'add', role]);
      await cluster.ctl(['user', 'add', `${role}:${password}`]);
      await cluster.ctl(['user', 'grant-role', role, role]);
    }
    await cluster.ctl(['role', 'grant-permission', 'reader', '--prefix=true', 'read', '/db/']);
    await cluster.ctl(['role', 'grant-permission', 'writer', '--prefix=true', 'readwrite', '/db/']);
    await cluster.ctl(['user', 'grant-role', 'root', 'root']).catch(() => undefined);
    await cluster.ctl(['auth', 'enable']);
  });

  /** Replaces the user by one with the same name and password, which invalidates the user's tokens. */
  async function replaceWriter(): Promise<void> {
    for (const change of [
      ['delete', 'writer'],
      ['add', `writer:${password}`],
      ['grant-role', 'writer', 'writer'],
    ])
      await etcd.cluster.ctl([...root, 'user', ...change]);
  }

  it('needs a user, the right password, and the permission to write', async () => {
    const url = etcd.cluster.url('/db');
    expect(await failure(etcd, url)).to.match(/requires a user; set ETCDCTL_USER and ETCDCTL_PASSWORD/);
    expect(await failure(etcd, url, { ETCDCTL_USER: 'writer:wrong' })).to.match(/^refused: .*check ETCDCTL_USER/);
    const reader = { ETCDCTL_USER: 'reader', ETCDCTL_PASSWORD: password };
    expect(await failure(etcd, url, reader)).to.match(/^readOnly: .*etcdctl role grant-permission/);
    expect(await etcd.cluster.ctl([...root, 'get', '', '--prefix'])).to.equal('');
  });

  it('needs permissions only for the keys below its prefix, and logs in again when its token has expired', async () => {
    const url = etcd.cluster.url('/db');
    const database = parseEtcdUrl(url, { ETCDCTL_USER: 'writer', ETCDCTL_PASSWORD: password });
    const store = await etcd.open(url, { database });
    await written(store, create('a', '1', [[1, 'v']]));
    await replaceWriter();
    await written(store, create('b', '2'));
    await replaceWriter();
    expect(await scanned(store)).to.have.lengthOf(2);
    expect(await store.compact(2, 10)).to.equal(2);
  });
});

describe('an etcd store that is opened with certificates [slow]', () => {
  let folder: string;
  let cluster: EtcdCluster | undefined;
  const etcd = new EtcdTestCluster();

  before(async function start() {
    this.timeout(60_000);
    if (!(await hasEtcd())) this.skipBecause(missingEtcd);
    folder = await mkdtemp(join(tmpdir(), 'homeostat-etcd-tls-'));
    await makeCertificates(folder);
    const files = { cert: `${folder}/server.pem`, key: `${folder}/server.key`, ca: `${folder}/ca.pem` };
    cluster = await EtcdCluster.start({
      size: 1,
      scheme: 'https',
      args: ['--cert-file', files.cert, '--key-file', files.key, '--trusted-ca-file', files.ca, '--client-cert-auth'],
      ctlArgs: ['--cacert', files.ca, '--cert', `${folder}/client.pem`, '--key', `${folder}/client.key`],
    });
  });
  afterEach(() => etcd.closeStores());
  after(async () => {
    await cluster?.stop();
    if (folder) await rm(folder, { recursive: true });
  });

  it('writes with a client certificate', async () => {
    const query = `ca=${folder}/ca.pem&cert=${folder}/client.pem&key=${folder}/client.key`;
    const store = await etcd.open(cluster?.url(`/tls?${query}`));
    await written(store, create('a', '1'));
  });

  it('is refused when the URL has a name that is not in the certificate of the member', async () => {
    const url = cluster?.url(`/p?ca=${folder}/ca.pem`).replace('127.0.0.1', 'localhost') ?? '';
    expect(await failure(etcd, url)).to.match(/^refused: .*use a name of the certificate in the URL/);
  });

  it('is refused when certificate and key do not belong together', async () => {
    const query = `ca=${folder}/ca.pem&cert=${folder}/ca.pem&key=${folder}/client.key`;
    expect(await failure(etcd, cluster?.url(`/p?${query}`) ?? '')).to.match(
      /^refused: the files of ca, cert and key in the URL are not PEM files that belong together/,
    );
  });

  it('is refused without TLS, without the authority, and without a certificate; each message says what to change', async () => {
    const url = (query: string): string => cluster?.url(`/p${query}`) ?? '';
    expect(await failure(etcd, url(''))).to.match(/^io: .*name the file of its certificate authority with \?ca=/);
    expect(await failure(etcd, url('?tls=true'))).to.match(
      /^refused: .*authority that is not known; name the file of the authority with \?ca=/,
    );
    expect(await failure(etcd, url(`?ca=${folder}/ca.pem`))).to.match(/^refused: .*requires a client certificate/);
  });
});

/** Creates an authority, a server certificate for 127.0.0.1, and a client certificate. */
async function makeCertificates(folder: string): Promise<void> {
  const openssl = (...args: string[]): Promise<unknown> => run('openssl', args, { cwd: folder });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-subj',
    '/CN=authority',
    '-days',
    '2',
  );
  for (const [name, extensions] of [
    ['server', 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n'],
    ['client', 'extendedKeyUsage=clientAuth\n'],
  ] as const) {
    await writeFile(join(folder, `${name}.ext`), extensions);
    await openssl('req', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
    const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', `${name}.ext`, '-days', '2'];
    await openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.pem`, ...signed);
  }
}
