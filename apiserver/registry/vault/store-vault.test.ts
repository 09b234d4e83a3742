import { silentLogger } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { GroupCommit } from '../../store/group-commit.ts';
import { createSqliteStore } from '../../store/sqlite/sqlite-store.ts';
import type { Store } from '../../store/store.ts';
import { StoreVault } from './store-vault.ts';

/**
 * Returns the vault of a process that shares its database with others, and gets no hints of their changes; and the
 * number of times that the vault read the latest revision.
 */
async function openVault(store: Store) {
  const vault = await StoreVault.read(store);
  const process = { vault, reads: 0 };
  let current = await store.currentRevision();
  const advance = (revision: number): void => void (current = Math.max(current, revision));
  const follow = async (before: number): Promise<void> => {
    for (const change of await store.changes(current, 100)) {
      if (change.revision > before) break;
      vault.apply(change);
      advance(change.revision);
    }
  };
  const revisions = {
    get current() {
      return current;
    },
    advance,
    reach: async () => {
      process.reads += 1;
      await follow(await store.currentRevision());
    },
  };
  const onError = (error: unknown): never => {
    throw error;
  };
  vault.connect({ commits: new GroupCommit(store, { onError, follow }), revisions, logger: silentLogger });
  return process;
}

describe('a vault that several processes share', () => {
  it('forgets an unreadable value that another process has deleted', async () => {
    const store = createSqliteStore({ memory: true });
    await store.open();
    const { vault } = await openVault(store);
    await vault.put('damaged', 1);
    const [row] = (await store.changes(0, 1)).map((change) => ({ ...change, data: Buffer.from('{') }));
    if (row === undefined) throw new Error('the change is missing');
    vault.replace(new Map([[row.key, { ...row, revision: row.revision + 1 }]]));
    expect(() => vault.get('damaged')).to.throw('cannot be read');
    vault.replace(new Map());
    expect(vault.get('damaged')).to.equal(undefined);
    await store.close();
  });

  it('its method hold replaces the id that another process stored under a name, without a query for the latest revision', async () => {
    const store = createSqliteStore({ memory: true });
    await store.open();
    const [one, two] = [await openVault(store), await openVault(store)];
    for (const [process, id] of [
      [one, 'one'],
      [two, 'two'],
      [one, 'one again'],
    ] as const) {
      const claim = await process.vault.hold('turn', id);
      expect(process.vault.get('turn')).to.equal(id);
      expect(claim.claim).to.include(id);
    }
    expect([one.reads, two.reads]).to.deep.equal([0, 0]);
    await store.close();
  });
});
