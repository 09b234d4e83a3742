import { createSecretKey } from 'node:crypto';
import { systemClock } from '@homeostat/controller-runtime';
import { silentLogger } from '@homeostat/controller-runtime/api';
import { Metrics } from '@homeostat/controller-runtime/telemetry';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { Encryption } from '../encryption/encryption.ts';
import { EncryptedStore } from '../encryption/encrypted-store.ts';
import type { OpenEncryption } from '../encryption/encrypted-store.ts';
import { defaultRetention } from '../registry/history/compactor.ts';
import type { Store } from '../store/store.ts';
import type { Vault } from '../vault/vault.ts';
import { DatabaseHealth } from './database-health.ts';
import { openStorage } from './open-storage.ts';
import type { OpenedStorage } from './open-storage.ts';

/** Returns an encryption with one key for each name; the first key encrypts new values. */
export function encryptionWith(...names: readonly string[]): OpenEncryption {
  const keys = names.map((name) => ({ name, secret: createSecretKey(Buffer.alloc(32, name)) }));
  const encryption = new Encryption([{ resources: ['secrets'], providers: keys.map((key) => ({ key })) }]);
  return () => Promise.resolve(encryption);
}

/** A vault on an open database. The vault is created in the same way as in a server. */
export class VaultUnderTest {
  readonly vault: Vault;
  readonly #store: Store;
  readonly #storage: OpenedStorage;

  private constructor(store: Store, storage: OpenedStorage) {
    this.#store = store;
    this.#storage = storage;
    this.vault = storage.vault;
  }

  static async open(inner: Store, encryption: OpenEncryption = encryptionWith('first')): Promise<VaultUnderTest> {
    const store = new EncryptedStore(inner, encryption);
    const parts = {
      clock: systemClock,
      logger: silentLogger,
      retention: defaultRetention(Number.POSITIVE_INFINITY),
      processes: 1,
      metrics: new Metrics(),
    };
    const health = new DatabaseHealth(systemClock);
    const storage = await openStorage({ ...parts, store, health, table: () => undefined });
    storage.follower?.start();
    return new VaultUnderTest(store, storage);
  }

  /** Compacts the whole history of the database. */
  async compact(): Promise<void> {
    await this.#store.compact(await this.#store.currentRevision(), 10_000);
  }

  async close(): Promise<void> {
    await this.#storage.follower?.stop();
    await this.#storage.commits.close();
    await this.#store.close();
  }
}

/** Creates a database. Returns a function that opens stores on this database. */
export type NewDatabase = () => Promise<() => Store>;

/** Adds the tests of vaults that every database has to pass. */
export function describeVault(database: string, newDatabase: NewDatabase, lasts = true): void {
  describe(`the vault on ${database}`, () => {
    const opened: VaultUnderTest[] = [];
    const open = async (store: Store): Promise<VaultUnderTest> => {
      const under = await VaultUnderTest.open(store);
      opened.push(under);
      return under;
    };

    afterEach(async () => {
      for (const under of opened.splice(0)) await under.close();
    });

    it('stores, replaces and deletes values by name', async () => {
      const { vault } = await open((await newDatabase())());
      expect(vault.get('session/none')).to.equal(undefined);
      expect(await vault.put('session/b', { user: 'ada' })).to.equal(true);
      await vault.put('session/a', [1]);
      await vault.put('signing/a', 'x');
      expect([...vault.entries('session/')]).to.deep.equal([
        ['session/a', [1]],
        ['session/b', { user: 'ada' }],
      ]);
      await vault.put('session/b', { user: 'bob' });
      await vault.delete('session/a');
      await vault.delete('session/a');
      expect([...vault.entries('')]).to.deep.equal([
        ['session/b', { user: 'bob' }],
        ['signing/a', 'x'],
      ]);
    });

    it('stores only one value when several values are put under one name at the same time with `ifAbsent`', async () => {
      const { vault } = await open((await newDatabase())());
      const won = await Promise.all([1, 2, 3, 4].map((value) => vault.put('key', value, { ifAbsent: true })));
      expect(won.filter(Boolean)).to.have.length(1);
      expect(vault.get('key')).to.equal(won.indexOf(true) + 1);
      await Promise.all([5, 6, 7, 8].map((value) => vault.put('key', value)));
      expect(vault.get('key')).to.equal(8);
    });

    if (!lasts) return;

    it('has the same values after a restart, and can then replace them', async () => {
      const store = await newDatabase();
      const before = await open(store());
      await before.vault.put('kept', { n: 1 });
      await before.vault.put('gone', 1);
      await before.vault.delete('gone');
      await opened.pop()?.close();
      const after = await open(store());
      expect([...after.vault.entries('')]).to.deep.equal([['kept', { n: 1 }]]);
      await after.vault.put('kept', { n: 2 });
      expect(after.vault.get('kept')).to.deep.equal({ n: 2 });
    });
  });
}

/** Adds the tests of vaults on databases that several servers share. */
export function describeSharedVault(database: string, newDatabase: NewDatabase): void {
  describe(`the vault of two servers on ${database}`, () => {
    let one: VaultUnderTest;
    let two: VaultUnderTest;

    beforeEach(async () => {
      const store = await newDatabase();
      [one, two] = [await VaultUnderTest.open(store()), await VaultUnderTest.open(store())];
    });

    afterEach(async () => {
      await one.close();
      await two.close();
    });

    it('has all earlier changes of the other server once `reach` has resolved', async () => {
      await one.vault.put('a', 1);
      await two.vault.reach();
      expect(two.vault.get('a')).to.equal(1);
      await two.vault.put('a', 2);
      await one.vault.put('a', 3);
      await two.vault.delete('a');
      await one.vault.reach();
      expect(one.vault.get('a')).to.equal(undefined);
    });

    it('calls a listener for each change of the other server, until the listener is removed', async () => {
      const told: string[] = [];
      const end = two.vault.onChange((name) => told.push(`${name}=${String(two.vault.get(name))}`));
      await one.vault.put('a', 1);
      await one.vault.put('b', 1);
      await eventually(() => expect(told).to.deep.equal(['a=1', 'b=1']));
      await one.vault.delete('b');
      await eventually(() => expect(told).to.deep.equal(['a=1', 'b=1', 'b=undefined']));
      end();
      await one.vault.put('a', 2);
      await two.vault.reach();
      expect(told).to.have.length(3);
    });

    it('stores only one value when both servers put values under one name at the same time with `ifAbsent`', async () => {
      const puts = [one, two, one, two].map(({ vault }, index) => vault.put('key', index, { ifAbsent: true }));
      const won = await Promise.all(puts);
      expect(won.filter(Boolean)).to.have.length(1);
      await Promise.all([one.vault.reach(), two.vault.reach()]);
      expect(one.vault.get('key')).to.equal(won.indexOf(true));
      expect(two.vault.get('key')).to.equal(won.indexOf(true));
    });
  });
}
