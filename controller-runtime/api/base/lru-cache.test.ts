import { expect } from 'chai';
import fc from 'fast-check';
import { LruCache } from './lru-cache.ts';

const keysOf = <V>(cache: LruCache<string, V>): string[] => [...cache.entries()].map(([key]) => key).sort();

describe('LruCache', () => {
  it('drops the least recently used entry; a get counts as a use, a peek does not', () => {
    const cache = new LruCache<string, number>({ maxEntries: 2 });
    cache.set('a', 1);
    cache.set('b', 2);
    expect(cache.get('a')).to.equal(1);
    expect(cache.peek('b')).to.equal(2);
    cache.set('c', 3);
    expect(keysOf(cache)).to.deep.equal(['a', 'c']);
    expect(cache.get('b')).to.equal(undefined);
  });

  it('stays within its maximum size: a value that is too large is not stored, and the old value of its key is removed', () => {
    const cache = new LruCache<string, string>({ maxSize: 10, sizeOf: ({ length }, key) => length + key.length });
    cache.set('a', 'xxxx');
    cache.set('b', 'xxxx');
    expect(cache.totalSize).to.equal(10);
    cache.set('c', 'x');
    expect(keysOf(cache)).to.deep.equal(['b', 'c']);
    cache.set('b', 'x'.repeat(10));
    expect(keysOf(cache)).to.deep.equal(['c']);
    expect(cache.totalSize).to.equal(2);
  });

  it('reports each removed value once: dropped, replaced, deleted, cleared or too large', () => {
    const removed: string[] = [];
    const cache = new LruCache<string, string>({
      maxSize: 2,
      sizeOf: ({ length }) => length,
      onRemove: (value) => removed.push(value),
    });
    for (const [key, value] of Object.entries({ a: '1', b: '2', c: '3', d: 'large' })) cache.set(key, value);
    cache.set('c', '4');
    expect(removed).to.deep.equal(['1', 'large', '3']);
    expect(cache.delete('b')).to.equal(true);
    expect(cache.delete('b')).to.equal(false);
    cache.clear();
    expect(removed).to.deep.equal(['1', 'large', '3', '2', '4']);
    expect(cache).to.include({ size: 0, totalSize: 0 });
  });

  it('gives the same results as a list in the order of use, for any operations', () => {
    const step = fc.record({ verb: fc.constantFrom('get', 'set', 'delete'), key: fc.integer({ min: 0, max: 6 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const cache = new LruCache<number, number>({ maxEntries: 4, maxSize: 12, sizeOf: (_value, key) => key });
        let model: readonly (readonly [number, number])[] = [];
        for (const [value, { verb, key }] of steps.entries()) {
          const known = model.find(([each]) => each === key);
          if (verb === 'get') expect(cache.get(key)).to.equal(known?.[1]);
          else if (verb === 'set') cache.set(key, value);
          else expect(cache.delete(key)).to.equal(known !== undefined);
          const used = verb === 'set' ? ([key, value] as const) : verb === 'get' ? known : undefined;
          model = [...model.filter(([each]) => each !== key), ...(used === undefined ? [] : [used])];
          const sizeOf = (entries: typeof model): number => entries.reduce((sum, [each]) => sum + each, 0);
          while (model.length > 4 || sizeOf(model) > 12) model = model.slice(1);
          expect([...cache.entries()].sort()).to.deep.equal([...model].sort());
          expect(cache.totalSize).to.equal(sizeOf(model));
        }
      }),
    );
  });
});
