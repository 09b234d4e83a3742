import { chmod, copyFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApiServer } from '@homeostat/apiserver';
import type { ApiServerOptions } from '@homeostat/apiserver';
import type { Logger } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { command } from './support/commands/command.ts';
import { encryptionConfig, secretOf, writeEncryptionConfig } from './support/servers/encryption-file.ts';
import { person, persons } from './support/models/models.ts';
import { itOnShared } from './support/databases/shared-databases.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

const secrets = '/api/v1/namespaces/default/secrets';
const planted = 'planted-secret-value';
const inBase64 = Buffer.from(planted).toString('base64');

function secret(name: string, value: string = planted): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { value } };
}

describe('encryption of the database', function () {
  this.timeout(30_000);
  let folder: string;
  let servers: TestServer[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-encryption-'));
    servers = [];
  });

  afterEach(async () => {
    for (const server of servers) await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const file = (name: string): string => join(folder, name);
  const database = (): string => `sqlite:${file('a.db')}`;

  async function start(options: ApiServerOptions = {}): Promise<TestServer> {
    const server = await TestServer.start({ database: database(), ...options });
    servers.push(server);
    return server;
  }

  async function stop(): Promise<void> {
    await servers.pop()?.stop();
  }

  async function bytesOf(pattern: RegExp): Promise<string> {
    const names = (await readdir(folder)).filter((name) => pattern.test(name));
    return (await Promise.all(names.map((name) => readFile(file(name), 'latin1')))).join('');
  }

  /** Expects that the database files contain encrypted objects, but not the secret in plain text or base64. */
  async function expectNothingPlain(): Promise<void> {
    const text = await bytesOf(/^a\.db/);
    expect(text).to.include('k8s:enc:aesgcm:v1:');
    expect(text.includes(planted), 'the value').to.equal(false);
    expect(text.includes(inBase64), 'the value in base64').to.equal(false);
  }

  async function failureOf(options: ApiServerOptions): Promise<string> {
    return startApiServer({ port: 0, ...options }).then(
      async (server) => {
        await server.stop();
        return 'started';
      },
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
  }

  describe('without a configuration', () => {
    it('creates a key file beside the database, and uses the key after a restart', async () => {
      const server = await start();
      await server.create(secrets, secret('first'));
      await server.patch(`${secrets}/first`, { stringData: { value: `${planted}-2` } });
      await server.create(secrets, secret('gone'));
      await server.delete(`${secrets}/gone`);
      await server.create(persons, person('ann'));
      await expectNothingPlain();
      expect((await stat(file('encryption.key'))).mode & 0o777).to.equal(0o600);
      const key = await readFile(file('encryption.key'), 'utf8');
      await stop();
      await expectNothingPlain();
      const again = await start();
      expect((await again.get(`${secrets}/first`)).body.data.value).to.equal(
        Buffer.from(`${planted}-2`).toString('base64'),
      );
      expect(await readFile(file('encryption.key'), 'utf8')).to.equal(key);
    });

    it('the server does not start when the key file of a database is missing, and does not create another one', async () => {
      const server = await start();
      await server.create(secrets, secret('first'));
      await stop();
      await rm(file('encryption.key'));
      const message = await failureOf({ database: database() });
      expect(message).to.match(
        /encryption\.key: objects of the database are encrypted with key "key-\w{8}", which this file does not hold: copy encryption\.key from the server that encrypted them, or name the keys with --encryption-config/,
      );
      expect(await readdir(folder)).not.to.include('encryption.key');
    });

    it('the server does not start when other users can read the key file [slow]', async () => {
      await start();
      await stop();
      await chmod(file('encryption.key'), 0o644);
      expect(await failureOf({ database: database() }))
        .to.include('encryption.key')
        .and.include('chmod 600');
    });
  });

  describe('with a configuration', () => {
    it('encrypts only the kinds that the configuration names', async () => {
      const path = await writeEncryptionConfig(file('keys.yaml'), ['one'], ['*.people.example.com']);
      const server = await start({ encryptionConfig: path });
      await server.create(persons, person('planted-person'));
      await server.create(secrets, secret('plain'));
      const text = await bytesOf(/^a\.db/);
      expect(text).to.include('k8s:enc:aesgcm:v1:one:').and.include(inBase64);
      expect(text.match(/"name":"planted-person"/)).to.equal(null);
      await stop();
      const again = await start({ encryptionConfig: path });
      expect((await again.get(`${persons}/planted-person`)).status).to.equal(200);
    });

    it('reads keys from environment variables [slow]', async () => {
      const config = encryptionConfig(['one']).replace(
        `"secret":"${secretOf('one')}"`,
        '"secretFromEnv":"HOMEOSTAT_TEST_KEY"',
      );
      await writeFile(file('keys.yaml'), config, { mode: 0o600 });
      const encryptionConfigFile = { database: database(), encryptionConfig: file('keys.yaml') };
      expect(await failureOf(encryptionConfigFile)).to.include('the environment has no variable HOMEOSTAT_TEST_KEY');
      process.env['HOMEOSTAT_TEST_KEY'] = secretOf('one');
      try {
        const server = await start(encryptionConfigFile);
        await server.create(secrets, secret('first'));
      } finally {
        delete process.env['HOMEOSTAT_TEST_KEY'];
      }
      await expectNothingPlain();
    });

    it('reports mistakes in the configuration with file and line, without the text of a key', async () => {
      const path = file('keys.yaml');
      const head = 'apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n';
      const keyed = (key: string): string =>
        `${head}resources:\n- resources: [secrets]\n  providers:\n  - aesgcm:\n      keys:\n      - ${key}\n`;
      const mistakes: readonly (readonly [text: string, message: string])[] = [
        [
          keyed('{ name: a, secret: planted }'),
          ':8: resources[0].providers[0].aesgcm.keys[0].secret: must be 32 bytes in base64',
        ],
        [
          keyed(`{ name: "a:b", secret: "${secretOf('a')}" }`),
          ':8: resources[0].providers[0].aesgcm.keys[0].name: must be 1 to 63',
        ],
        [
          keyed('{ name: a }'),
          ':8: resources[0].providers[0].aesgcm.keys[0]: must have one of secret and secretFromEnv',
        ],
        [
          keyed('{ name: a, planted: 1 }').replace('aesgcm', 'kms'),
          ':6: resources[0].providers[0].kms: is not a provider of this server: use aesgcm or identity',
        ],
        [`${head}resources: []\n`, ':3: resources: must be a list with at least one item'],
        [head.replace('v1\n', 'v2\n'), ':1: apiVersion: must be apiserver.config.k8s.io/v1'],
        [
          `${head}resources:\n- resources: [a b]\n  providers: [identity: {}]\n`,
          ':4: resources[0].resources[0]: must be a resource such as',
        ],
        [`${head}resources:\n- resources: [secrets]\n  providers: [identity: {}]\n`, 'needs a key'],
        [`${head}resources: "planted`, ':3: not valid YAML: '],
        [
          `${keyed(`{ name: a, secret: "${secretOf('a')}" }`)}      - { name: a, secret: "${secretOf('b')}" }\n`,
          ':9: resources[0].providers[0].aesgcm.keys[1].name: names another key',
        ],
      ];
      for (const [text, message] of mistakes) {
        await writeFile(path, text, { mode: 0o600 });
        const failure = await failureOf({ database: database(), encryptionConfig: path });
        expect(failure).to.include(path).and.include(message).and.not.include('planted');
      }
      await writeFile(path, encryptionConfig(['one']));
      await chmod(path, 0o604);
      expect(await failureOf({ database: database(), encryptionConfig: path })).to.match(
        /keys\.yaml: .*\(mode 0604\): chmod 600/,
      );
      expect(await failureOf({ database: database(), encryptionConfig: file('none') })).to.include(
        'there is no such file',
      );
      expect(await readdir(folder)).not.to.include('a.db');
    });
  });

  it('returns 500 with the name of the key for reads and writes of an object whose key is missing [slow]', async () => {
    const one = await writeEncryptionConfig(file('one.yaml'), ['one']);
    const two = await writeEncryptionConfig(file('two.yaml'), ['two']);
    const server = await start({ encryptionConfig: one });
    await server.create(secrets, secret('old'));
    await stop();
    const errors: string[] = [];
    const log = (fields: object, message?: string): void => void errors.push(`${message} ${JSON.stringify(fields)}`);
    const logger: Logger = { debug: log, info: log, warn: log, error: log };
    const without = await start({ encryptionConfig: two, logger });
    const path = `${secrets}/old`;
    const message =
      'the stored bytes are encrypted with key "one", which this server does not have; correct the encryption configuration, or delete the object';
    for (const answer of [
      await without.get(path),
      await without.put(path, secret('old', 'overwritten')),
      await without.patch(path, { stringData: { a: 'b' } }),
      await without.patch(`${path}?fieldManager=a`, secret('old', 'overwritten'), {
        type: 'application/apply-patch+yaml',
      }),
    ])
      expectRefusal(answer, { reason: 'InternalError', message });
    expectRefusal(await without.post(secrets, secret('old')), { reason: 'AlreadyExists' });
    expect((await without.post(secrets, secret('new'))).status).to.equal(201);
    expect(errors.join('\n')).to.include('key \\"one\\"').and.not.include(planted).and.not.include(inBase64);
    await stop();
    const both = await start({ encryptionConfig: await writeEncryptionConfig(file('both.yaml'), ['two', 'one']) });
    expect((await both.get(path)).body.data.value).to.equal(inBase64);
    expect((await both.get(`${secrets}/new`)).body.data.value).to.equal(inBase64);
  });

  itOnShared('rotates keys on two servers while both serve requests [slow]', async (url) => {
    const path = async (name: string, ...keys: readonly string[]): Promise<string> =>
      writeEncryptionConfig(file(`${name}.yaml`), keys);
    const startWith = async (encryptionConfigPath: string): Promise<TestServer> =>
      TestServer.start({ database: url, encryptionConfig: encryptionConfigPath });
    const old = await path('old', 'one');
    let [a, b] = [await startWith(old), await startWith(old)];
    await a.create(secrets, secret('first'));
    // In the first round, both servers get the new key for reading. In the second round, they encrypt with the new key.
    for (const keys of [
      ['one', 'two'],
      ['two', 'one'],
    ]) {
      const next = await path(keys.join('-'), ...keys);
      await a.stop();
      a = await startWith(next);
      await a.create(secrets, secret(`by-a-${keys[0]}`));
      expect((await b.get(`${secrets}/by-a-${keys[0]}`)).body.data.value).to.equal(inBase64);
      await b.stop();
      b = await startWith(next);
      await b.create(secrets, secret(`by-b-${keys[0]}`));
      expect((await a.get(`${secrets}/by-b-${keys[0]}`)).body.data.value).to.equal(inBase64);
    }
    const watch = await b.watch(`${secrets}?watch=true&resourceVersion=${await b.revision(secrets)}`);
    const before = (await b.get(`${secrets}/first`)).body;
    const { status, text } = await a.post('/reencrypt', undefined);
    expect([status, JSON.parse(text.trim())]).to.deep.equal([
      200,
      { rewritten: 3, unreadable: 0, problems: [], done: true },
    ]);
    await watch.count(3);
    const after = (await b.get(`${secrets}/first`)).body;
    expect(Number(after.metadata.resourceVersion)).to.be.greaterThan(Number(before.metadata.resourceVersion));
    const { resourceVersion } = before.metadata;
    expect({ ...after, metadata: { ...after.metadata, resourceVersion } }).to.deep.equal(before);
    const again = await b.post('/reencrypt', undefined);
    expect(JSON.parse(again.text.trim())).to.deep.include({ rewritten: 0, done: true });
    await a.stop();
    a = await startWith(await path('new', 'two'));
    expect((await a.get(secrets)).body.items).to.have.length(5);
    await a.stop();
    await b.stop();
  });

  it('exports objects encrypted, or decrypted on request, and imports both [slow]', async () => {
    const path = await writeEncryptionConfig(file('keys.yaml'), ['one']);
    const server = await start({ encryptionConfig: path });
    await server.create(secrets, secret('first'));
    await server.create(persons, person('ann'));
    const online = await command(['export', '--server', server.api.url, '--output', file('online')]);
    expect(online.code, online.stderr).to.equal(0);
    const decrypted = await command(['export', '--decrypt', '--server', server.api.url, '--output', file('decrypted')]);
    expect(decrypted.code, decrypted.stderr).to.equal(0);
    await stop();
    const offline = ['--database', database(), '--encryption-config', path];
    expect((await command(['export', ...offline, '--output', file('offline')])).code).to.equal(0);
    expect((await command(['export', '--decrypt', ...offline, '--output', file('offline-decrypted')])).code).to.equal(
      0,
    );
    for (const name of ['online', 'offline']) {
      const text = await readFile(file(name), 'utf8');
      expect(text).to.include('ann').and.not.include(planted).and.not.include(inBase64);
    }
    for (const name of ['decrypted', 'offline-decrypted'])
      expect(await readFile(file(name), 'utf8')).to.include(inBase64);
    // The objects in the export are encrypted. So a server on the new database, into which they are imported, needs the
    // key of the first database.
    expect((await command(['import', '--database', `sqlite:${file('b/b.db')}`, file('online')])).code).to.equal(0);
    expect(await failureOf({ database: `sqlite:${file('b/b.db')}` })).to.include('are encrypted with key "one"');
    const moved = await start({ database: `sqlite:${file('b/b.db')}`, encryptionConfig: path });
    expect((await moved.get(`${secrets}/first`)).body.data.value).to.equal(inBase64);
    await stop();
    // The objects in the export are decrypted, and the import encrypts them with another key.
    const imported = await command(['import', '--database', `sqlite:${file('a.db.copy/c.db')}`, file('decrypted')]);
    expect(imported.stdout, imported.stderr).to.include('equal to the export');
    expect(await readFile(file('a.db.copy/c.db'), 'latin1')).not.to.include(inBase64);
    const copy = await start({ database: `sqlite:${file('a.db.copy/c.db')}` });
    expect((await copy.get(`${secrets}/first`)).body.data.value).to.equal(inBase64);
    const cli = await command(['reencrypt', '--server', copy.api.url]);
    expect([cli.code, cli.stdout]).to.deep.equal([0, 'encrypted 0 objects with the first key\n']);
  });

  it('encrypts stored plain-text objects at POST /reencrypt, and counts the objects that it cannot read [slow]', async () => {
    const plain = await writeEncryptionConfig(file('plain.yaml'), ['identity', 'one']);
    const server = await start({ encryptionConfig: plain });
    for (let n = 0; n < 250; n += 1) await server.create(secrets, secret(`s${n}`));
    await stop();
    const strict = await start({ encryptionConfig: await writeEncryptionConfig(file('strict.yaml'), ['one']) });
    expectRefusal(await strict.get(`${secrets}/s1`), {
      reason: 'InternalError',
      message: 'the stored bytes are in plain text',
    });
    const counted = await strict.post('/reencrypt', undefined);
    expect(JSON.parse(counted.text.trim())).to.deep.include({ rewritten: 0, unreadable: 250, done: true });
    await stop();
    const both = await start({ encryptionConfig: await writeEncryptionConfig(file('both.yaml'), ['one', 'identity']) });
    const done = await both.post('/reencrypt', undefined);
    expect(JSON.parse(done.text.trim().split('\n').at(-1) ?? '')).to.deep.include({ rewritten: 250, unreadable: 0 });
    await stop();
    const again = await start({ encryptionConfig: await writeEncryptionConfig(file('strict.yaml'), ['one']) });
    expect((await again.get(secrets)).body.items).to.have.length(250);
  });

  it('shows no content of a Secret in logs, errors and pages', async () => {
    const logged: string[] = [];
    const log = (fields: object, message?: string): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
    await writeFile(
      file('audit.yaml'),
      'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: RequestResponse }]\n',
      { mode: 0o600 },
    );
    const server = await start({
      logger: { debug: log, info: log, warn: log, error: log },
      audit: { logFile: file('audit.log'), policyFile: file('audit.yaml') },
    });
    await server.create(secrets, secret('shown'));
    const apply = { type: 'application/apply-patch+yaml' };
    const sent = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'shown' }, data: { value: inBase64 } };
    const answers = [
      await server.post(secrets, secret('shown')),
      await server.post(`${secrets}?fieldValidation=Strict`, { ...secret('other'), unknown: planted }),
      await server.post(secrets, { ...secret('other'), type: 'kubernetes.io/tls' }),
      await server.post(secrets, `{"stringData":{"a":"${planted}"`),
      await server.post(secrets, `stringData: {a: ${planted}`, { type: 'application/yaml' }),
      await server.patch(`${secrets}/shown`, [{ op: 'test', path: '/data/value', value: planted }], {
        type: 'application/json-patch+json',
      }),
      await server.patch(`${secrets}/shown?fieldManager=other`, { ...sent, data: { value: 'eA==' } }, apply),
      await server.put(`${secrets}/shown`, { ...secret('shown'), metadata: { name: 'shown', resourceVersion: '1' } }),
      await server.delete(`${secrets}/shown?dryRun=All`, { body: { preconditions: { uid: 'other' } } }),
    ];
    for (const { status, text } of answers) {
      expect(status, text).to.be.greaterThan(399);
      expect(text).not.to.include(planted).and.not.include(inBase64);
    }
    const pages = ['/metrics', '/readyz?verbose', '/api/v1', '/openapi/v3/api/v1', '/openapi/v2', '/export', '/debug'];
    for (const path of pages) {
      const { text } = await server.get(path);
      expect(text.includes(planted) || text.includes(inBase64), path).to.equal(false);
    }
    const events = await server.get('/api/v1/events');
    expect(events.text).not.to.include(planted);
    // The server drops the unknown field of this in-process write, and logs a warning.
    const { descriptor } = server.api.schemeManager.lookup({ group: '', version: 'v1', kind: 'Secret' })!;
    await server.api.client.create(descriptor, { ...secret('logged'), unknown: planted } as never, {
      namespace: 'default',
    });
    expect(logged.join('\n')).to.include('unknown field').and.not.include(planted).and.not.include(inBase64);
    await stop();
    const audited = await bytesOf(/^audit.*\.log$/);
    expect(audited).to.include('"resource":"secrets"').and.not.include(planted).and.not.include(inBase64);
    await expectNothingPlain();
  });

  it("does not serve the vault (the server's own secret values) under any path [slow]", async () => {
    const server = await start();
    for (const path of ['/apis/vault.homeostat.internal', '/apis/vault.homeostat.internal/v1/values'])
      expect((await server.get(path)).status).to.equal(404);
    for (const path of ['/apis', '/openapi/v2', '/openapi/v3', '/metrics', '/debug']) {
      expect((await server.get(path)).text).not.to.include('vault');
    }
  });

  it('accepts a copy of the key file as the configuration of another server on the same database [slow]', async () => {
    await start();
    await stop();
    await copyFile(file('encryption.key'), file('keys.yaml'));
    await chmod(file('keys.yaml'), 0o600);
    const server = await start({ encryptionConfig: file('keys.yaml') });
    await server.create(secrets, secret('first'));
    expect((await server.get(`${secrets}/first`)).status).to.equal(200);
  });
});
