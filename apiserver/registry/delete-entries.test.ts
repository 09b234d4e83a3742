import { expect } from 'chai';
import { createEntry } from '../index/create-entry.ts';
import type { Entry } from '../index/entry.ts';
import { Slabs } from '../index/slabs.ts';
import { replaceTurnClock } from '../turns/next-turn.ts';
import { deleteEntries } from './delete-entries.ts';
import type { Resource } from './kinds/resource.ts';
import type { Registry } from './registry.ts';

describe('deleteEntries', () => {
  const slabs = new Slabs();
  const entries = Array.from({ length: 5000 }, (_, number): Entry => {
    const name = `n${number}`;
    const bytes = slabs.allocate(20).fill(0);
    return createEntry({ metadata: { name } }, { bytes, revision: number + 1, values: [name], slabs });
  });
  const resource = {} as Resource;

  it('lets other work run while it reads many entries that it does not delete', async () => {
    // Each step takes longer than a turn of the event loop may take.
    let nowMs = 0;
    const restore = replaceTurnClock(() => (nowMs += 50));
    try {
      let turns = 0;
      let isDone = false;
      const count = (): void => {
        turns += 1;
        if (!isDone) setImmediate(count);
      };
      setImmediate(count);
      const parts = { atOnce: 100, optionsOf: () => ({}) };
      await deleteEntries({} as Registry, { resource, entries, isWanted: () => false }, parts);
      isDone = true;
      expect(turns).to.be.at.least(4);
    } finally {
      restore();
    }
  });

  it('deletes the wanted entries, at most `atOnce` at a time; after all deletions, rejects with the first failure', async () => {
    const [deleted, running] = [new Set<string>(), { now: 0, most: 0 }];
    const remove = async (_resource: Resource, { name }: { readonly name: string }): Promise<void> => {
      running.most = Math.max(running.most, (running.now += 1));
      await Promise.resolve();
      running.now -= 1;
      if (name === 'n10') throw new Error('refused');
      deleted.add(name);
    };
    const registry = { delete: remove } as unknown as Registry;
    const isWanted = ({ revision }: Entry): boolean => revision % 2 === 1;
    const parts = { atOnce: 100, optionsOf: () => ({}) };
    const failure = await deleteEntries(registry, { resource, entries, isWanted }, parts).catch(String);
    expect(failure).to.equal('Error: refused');
    expect(running.most).to.equal(100);
    const wanted = entries.filter(isWanted).map(({ name }) => name);
    expect([...deleted]).to.have.members(wanted.filter((name) => name !== 'n10'));
  });

  it('starts no deletion after isStopped() returns true', async () => {
    let count = 0;
    const registry = { delete: async () => void (count += 1) } as unknown as Registry;
    const parts = { atOnce: 100, optionsOf: () => ({}), isStopped: () => count >= 200 };
    await deleteEntries(registry, { resource, entries }, parts);
    expect(count).to.equal(200);
  });
});
