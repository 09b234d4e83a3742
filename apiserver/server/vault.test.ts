import { isApiError } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPostgresStore } from '../store/postgres/postgres-store.ts';
import { PostgresTestServer } from '../store/postgres/postgres-database.test-support.ts';
import { describeWithMysql, dropDatabases, freshDatabase, storeOn } from '../store/mysql/mysql.test-support.ts';
import { createSqliteStore } from '../store/sqlite/sqlite-store.ts';
import { systemClock } from '@homeostat/controller-runtime';
import { randomUUID } from 'node:crypto';
import { SharedDatabase } from './shared-database.fixture.ts';
import { describeSharedVault, describeVault, encryptionWith, VaultUnderTest } from './vault.fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'homeostat-vault-'));
let files = 0;
const newFile = (): string => join(folder, `${(files += 1)}`, 'vault.db');

after(() => rmSync(folder, { recursive: true, force: true }));

describeVault('a database in memory', () => Promise.resolve(() => createSqliteStore({ memory: true })), false);

describeVault('SQLite', () => {
  const path = newFile();
  return Promise.resolve(() => createSqliteStore({ path }));
});

const newShared = async (): Promise<() => ReturnType<SharedDatabase['replica']>> => {
  const database = new SharedDatabase();
  return () => database.replica();
};
describeSharedVault('one store in memory', newShared);

describe('on PostgreSQL', () => {
  const server = PostgresTestServer.use();
  const newDatabase = async (): Promise<() => ReturnType<typeof createPostgresStore>> => {
    const url = await server.createSchema();
    return () => createPostgresStore({ url, clock: systemClock, uuid: randomUUID });
  };
  describeVault('PostgreSQL', newDatabase);
  describeSharedVault('PostgreSQL', newDatabase);
});

describeWithMysql('on MySQL or MariaDB', () => {
  const newDatabase = async (): Promise<() => ReturnType<typeof storeOn>> => {
    const database = await freshDatabase();
    return () => storeOn(database);
  };
  after(dropDatabases);
  describeVault('MySQL', newDatabase);
  describeSharedVault('MySQL', newDatabase);
});

describe('the vault', () => {
  it('refuses invalid names and values', async () => {
    const under = await VaultUnderTest.open(createSqliteStore({ memory: true }));
    const { vault } = under;
    const failure = async (name: string, value: unknown): Promise<unknown> =>
      vault.put(name, value).catch((error: unknown) => error);
    for (const name of ['', 'A', 'a b', 'x'.repeat(201)]) expect(await failure(name, 1)).to.be.instanceOf(TypeError);
    for (const value of [undefined, 'x'.repeat(70_000)]) {
      const error = await failure('a', value);
      expect(error).to.be.instanceOf(TypeError);
      expect(String(error)).not.to.include('xx');
    }
    await vault.put('-.'.repeat(100), 'x'.repeat(60_000));
    expect(vault.entries('').size).to.equal(1);
    await under.close();
  });

  it('returns frozen values', async () => {
    const under = await VaultUnderTest.open(createSqliteStore({ memory: true }));
    await under.vault.put('a', { list: [1] });
    const value = under.vault.get('a') as { list: number[] };
    expect(() => value.list.push(2)).to.throw(TypeError);
    await under.close();
  });

  it('reveals no name and no value to a reader of the database files', async () => {
    const path = newFile();
    const under = await VaultUnderTest.open(createSqliteStore({ path }));
    await under.vault.put('password/planted-user', 'planted-value-1');
    await under.vault.put('password/planted-user', 'planted-value-2');
    await under.vault.delete('password/planted-user');
    const inFiles = (): string =>
      readdirSync(join(path, '..'))
        .map((name) => readFileSync(join(path, '..', name), 'latin1'))
        .join('');
    expect(inFiles()).to.include('k8s:enc:aesgcm:v1:first:').and.not.include('planted');
    await under.close();
    expect(inFiles()).not.to.include('planted');
  });

  it('overwrites no value that it cannot decrypt [slow]', async () => {
    const path = newFile();
    const before = await VaultUnderTest.open(createSqliteStore({ path }));
    await before.vault.put('signing/a', 'key');
    await before.close();
    const without = await VaultUnderTest.open(createSqliteStore({ path }), encryptionWith('second'));
    const message = /cannot be read: the stored bytes are encrypted with key "first", which this server does not have/;
    expect(() => without.vault.get('signing/a')).to.throw(message);
    expect(without.vault.entries('signing/').size).to.equal(0);
    for (const ifAbsent of [true, false]) {
      const error = await without.vault.put('signing/a', 'other', { ifAbsent }).catch((failure: unknown) => failure);
      expect(isApiError(error) && error.code).to.equal(500);
      expect(String(error)).to.match(message);
    }
    await without.vault.put('signing/b', 'new');
    await without.close();
    const again = await VaultUnderTest.open(createSqliteStore({ path }), encryptionWith('second', 'first'));
    expect(again.vault.get('signing/a')).to.equal('key');
    expect(again.vault.get('signing/b')).to.equal('new');
    await again.close();
  });

  it('receives the values of another server even when the changes that it has missed are compacted', async () => {
    const database = new SharedDatabase();
    const [store, deaf] = [database.replica(), database.replica()];
    const writer = await VaultUnderTest.open(store);
    const reader = await VaultUnderTest.open(deaf);
    await writer.vault.put('gone', 1);
    await writer.vault.put('changed', 1);
    await reader.vault.reach();
    deaf.isDeaf = true;
    const told: string[] = [];
    reader.vault.onChange((name) => told.push(name));
    await writer.vault.delete('gone');
    await writer.vault.put('changed', 2);
    await writer.vault.put('new', 3);
    await writer.compact();
    await reader.vault.reach();
    expect([...reader.vault.entries('')]).to.deep.equal([
      ['changed', 2],
      ['new', 3],
    ]);
    expect(told.sort()).to.deep.equal(['changed', 'gone', 'new']);
    await writer.close();
    await reader.close();
    await database.close();
  });
});
