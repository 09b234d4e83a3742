import { expect } from 'chai';
import type { Change } from '../../api/watch-client.ts';
import { windowOf } from '../../parts/virtual-rows.ts';
import { compareBy, RowTable, rowsOf } from './row-table.ts';

const table = (...names: readonly string[]) => ({
  rows: names.map((name) => ({ cells: [name], object: { metadata: { name, creationTimestamp: '' } } })),
});
const change = (type: Change['type'], name: string): Change => ({ type, object: table(name) });
const order = { field: 'metadata.name', isDescending: false };

function startTable(isComplete: boolean): RowTable {
  const rows = new RowTable();
  rows.hasMore = !isComplete;
  rows.replace(rowsOf(table('b', 'd', 'f')));
  rows.setCompare(compareBy(order, []));
  rows.total = isComplete ? 3 : 1000;
  return rows;
}

const names = (rows: RowTable): string => rows.rows.map(({ name }) => name).join('');

describe('the rows of a live list', () => {
  it('are inserted in order, and removed some seconds after they were marked as deleted', () => {
    const rows = startTable(true);
    rows.apply([change('ADDED', 'c'), change('DELETED', 'b')], 1000);
    expect([names(rows), rows.total]).to.deep.equal(['bcdf', 3]);
    expect(rows.rows.map(({ mark }) => mark)).to.deep.equal(['gone', 'new', undefined, undefined]);
    expect(rows.sweep(2000)).to.equal(false);
    expect(rows.sweep(9000)).to.equal(true);
    expect(names(rows)).to.equal('cdf');
  });

  it('are not shown, but increase the total, when they are new and sort after the last loaded row of a partly loaded list', () => {
    const rows = startTable(false);
    rows.apply([change('ADDED', 'x'), change('ADDED', 'e')], 0);
    expect([names(rows), rows.total]).to.deep.equal(['bdef', 1002]);
  });

  it('keep the changes that the watch reported before their chunk was loaded; rows deleted meanwhile are not shown', () => {
    const rows = startTable(false);
    rows.apply([change('MODIFIED', 'g'), change('DELETED', 'h'), change('ADDED', 'i'), change('ADDED', 'z')], 0);
    expect([names(rows), rows.total]).to.deep.equal(['bdf', 1001]);
    rows.append(rowsOf(table('g', 'h', 'j')));
    expect(names(rows)).to.equal('bdfgij');
    expect(rows.rows.map(({ mark }) => mark).slice(3)).to.deep.equal(['changed', 'new', undefined]);
    rows.hasMore = false;
    rows.append(rowsOf(table('k')));
    expect(names(rows)).to.equal('bdfgijkz');
  });

  it('show a new object once its place is loaded, even if the object has changed before', () => {
    const rows = startTable(false);
    rows.apply([change('ADDED', 'i'), change('MODIFIED', 'i')], 0);
    rows.append(rowsOf(table('g', 'j')));
    expect(names(rows)).to.equal('bdfgij');
  });

  it('leave out new objects that sort before the first row, while the page shows a later part of the list', () => {
    const rows = startTable(true);
    rows.isLater = true;
    rows.apply([change('ADDED', 'a'), change('MODIFIED', 'aa'), change('ADDED', 'c'), change('ADDED', 'g')], 0);
    expect([names(rows), rows.total]).to.deep.equal(['bcdfg', 6]);
  });

  const valued = (name: string, value: number) => ({
    rows: [{ cells: [value], object: { metadata: { name, creationTimestamp: '' } } }],
  });
  const byValue = compareBy({ field: 'column:Value', isDescending: false }, [
    { name: 'Value', type: 'integer', description: '', priority: 0 },
  ]);

  it('are in order, and each appears once, after every batch of added, modified and deleted rows', () => {
    const rows = new RowTable();
    rows.setCompare(byValue);
    for (let step = 0; step < 200; step += 1) {
      const changes = [0, 1, 2, 3].map((each): Change => {
        const type = (step + each) % 3 === 0 ? 'ADDED' : (step * each) % 7 === 1 ? 'DELETED' : 'MODIFIED';
        return { type, object: valued(`n${(step * 7 + each * 5) % 23}`, (step * 31 + each * 17) % 11) };
      });
      rows.apply(changes, step);
      if (step % 50 === 0) rows.sweep(step + 10_000);
      expect(rows.rows).to.deep.equal([...rows.rows].sort(byValue));
      expect(new Set(rows.rows.map(({ key }) => key)).size).to.equal(rows.rows.length);
    }
    expect(rows.rows).to.have.length.above(10);
  });

  it('need at most 21 comparisons for each row that moves in a list of 16,384 rows', () => {
    const count = 16_384;
    const rows = new RowTable();
    rows.replace(Array.from({ length: count }, (_, value) => rowsOf(valued(`n${value}`, value))).flat());
    let comparisons = 0;
    rows.setCompare((left, right) => {
      comparisons += 1;
      return byValue?.(left, right) ?? 0;
    });
    comparisons = 0;
    const batch = 64;
    rows.apply(
      Array.from({ length: batch }, (_, index): Change => {
        const object = valued(`n${index}`, count - index);
        return { type: 'MODIFIED', object };
      }),
      0,
    );
    // For each row that moves: one comparison to see that it moved, 6 to order the batch, and 14 to find its place.
    expect(comparisons).to.be.at.most(batch * (1 + 6 + 14));
    expect(rows.rows.at(-1)?.name).to.equal('n0');
  });

  it('are out of date once more than 20,000 unloaded rows have changed [slow]', () => {
    const rows = startTable(false);
    const many = (count: number): void =>
      rows.apply(
        Array.from({ length: count }, (_, index) => change('MODIFIED', `x${index}`)),
        0,
      );
    many(20_000);
    expect(rows.isOutdated).to.equal(false);
    many(20_001);
    expect(rows.isOutdated).to.equal(true);
    rows.replace([]);
    expect(rows.isOutdated).to.equal(false);
  });

  it('appear only once when the next chunk repeats a loaded row', () => {
    const rows = startTable(false);
    rows.append(rowsOf(table('f', 'g')));
    expect(names(rows)).to.equal('bdfg');
  });

  it('are rendered only in and near the visible part of the list', () => {
    const shown = windowOf({ count: 100_000, rowHeight: 30, top: 300_000, height: 600 });
    expect(shown.end - shown.start).to.be.at.most(40);
    expect(shown.before + (shown.end - shown.start) * 30 + shown.after).to.equal(3_000_000);
    expect(windowOf({ count: 0, rowHeight: 30, top: 0, height: 600 })).to.deep.equal({
      start: 0,
      end: 0,
      before: 0,
      after: 0,
    });
  });
});
