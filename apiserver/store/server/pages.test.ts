import { expect } from 'chai';

import { type RowPage, pageLimits, pageOf, readAhead, readChanges } from './pages.ts';
import { rejectionOf } from '../store-operations.fixture.ts';
import type { Change, Row } from '../store.ts';

const row = (key: string): Row => ({ key, revision: 1, data: new Uint8Array() });
const change = (revision: number): Change => ({ revision, op: 'create', key: '', kind: 1, data: new Uint8Array() });

describe('pages of a database', () => {
  it('a page is the last one when it reaches neither the limit of rows nor the limit of bytes', () => {
    const limits = { maxRows: 2, maxBytes: 10 };
    expect(pageOf([1], 9, limits)).to.deep.equal({ items: [1], isLast: true });
    expect(pageOf([1, 2], 2, limits).isLast).to.equal(false);
    expect(pageOf([1], 10, limits).isLast).to.equal(false);
  });

  it('are read one page ahead, and no further', async () => {
    const asked: string[] = [];
    const pages = readAhead(async (after) => {
      asked.push(after);
      return { items: [row(`${after}a`)], isLast: after === 'aa' };
    });
    expect(asked).to.deep.equal([]);
    expect((await pages.next()).value).to.deep.equal([row('a')]);
    expect(asked).to.deep.equal(['', 'a']);
    const rest: string[] = [];
    for await (const rows of pages) rest.push(...rows.map(({ key }) => key));
    expect([rest, asked]).to.deep.equal([
      ['aa', 'aaa'],
      ['', 'a', 'aa'],
    ]);
  });

  it('end at an empty page; a failure to read ahead is reported only when the caller requests the failed page', async () => {
    const empty = readAhead(async () => ({ items: [], isLast: true }));
    expect((await empty.next()).done).to.equal(true);
    const failure = new Error('lost');
    const failing = readAhead(async (after): Promise<RowPage<Row>> => {
      if (after !== '') throw failure;
      return { items: [row('a')], isLast: false };
    });
    expect((await failing.next()).value).to.deep.equal([row('a')]);
    expect(await rejectionOf(failing.next())).to.equal(failure);
  });

  it('are read until there are as many changes as requested, or until the last page', async () => {
    const asked: [after: number, maxRows: number][] = [];
    const read = async (after: number, { maxRows }: { readonly maxRows: number }): Promise<RowPage<Change>> => {
      asked.push([after, maxRows]);
      const items = Array.from({ length: Math.min(maxRows, 400) }, (_, at) => change(after + at + 1));
      return { items, isLast: after >= 1600 };
    };
    expect(await readChanges(read, 0, 1500)).to.have.lengthOf(1500);
    expect(asked).to.deep.equal([
      [0, pageLimits.maxRows],
      [400, pageLimits.maxRows],
      [800, 700],
      [1200, 300],
    ]);
    expect(await readChanges(read, 1600, 1500)).to.have.lengthOf(400);
    expect(await readChanges(read, 0, 0)).to.deep.equal([]);
  });
});
