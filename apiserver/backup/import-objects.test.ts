import { expect } from 'chai';

import { bytes, create, key, rejectionOf, scanned, text, written } from '../store/store-operations.fixture.ts';
import type { Operation, Store } from '../store/store.ts';
import type { ExportedObject } from './export-reader.ts';
import { exampleObjects, exported, openEmptyStore, readWhole } from './export-text.fixture.ts';
import type { ReadExport } from './export-text.fixture.ts';
import { importObjects } from './import-objects.ts';
import { refuseUnfinishedImport } from './unfinished-import.ts';

/** Imports objects from memory instead of a file. */
function importOf(store: Store, { proved, objects }: ReadExport): Promise<void> {
  async function* pages(): AsyncGenerator<readonly ExportedObject[]> {
    for (let from = 0; from < objects.length; from += 300) yield objects.slice(from, from + 300);
  }
  return importObjects(store, { proved, objects: pages() });
}

async function exportOf(...operations: Operation[]): Promise<ReadExport> {
  const store = await openEmptyStore();
  await written(store, ...operations);
  const found = readWhole(bytes(await exported(store)));
  await store.close();
  return found;
}

/** Returns a store that has the methods in `calls`, and passes all other calls to `store`. */
function changed(store: Store, calls: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const value = calls[name] ?? target[name];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

describe('an import', () => {
  let store: Store;
  beforeEach(async () => {
    store = await openEmptyStore();
  });
  afterEach(() => store.close());

  const many = (count: number): Operation[] =>
    Array.from({ length: count }, (_, at) => create(`n${at}`, `{"n":${at}}`));

  it('gives each object the number that identifies its kind in the target database, and a revision over 1,000,000 above the revision of the export', async () => {
    const source = await exportOf(...exampleObjects());
    await importOf(store, source);
    const rows = await scanned(store);
    expect(rows.map((row) => row.key)).to.deep.equal(source.objects.map((object) => object.key));
    for (const [at, { data }] of source.objects.entries()) expect(Buffer.compare(rows[at]!.data, data)).to.equal(0);
    expect(Math.min(...rows.map(({ revision }) => revision))).to.be.above(source.proved.revision + 1_000_000);
    expect(await scanned(store, await store.numberOf('kind:example.com/persons'))).to.have.lengthOf(8);
    expect(await scanned(store, await store.numberOf('kind:/letters'))).to.have.lengthOf(8);
    expect(readWhole(bytes(await exported(store))).proved.sha256).to.equal(source.proved.sha256);
    await refuseUnfinishedImport(store);
  });

  it('leaves no log of changes, so watchers can resume only from the newest state [slow]', async () => {
    await importOf(store, await exportOf(...many(2500)));
    const revision = await store.currentRevision();
    expect(await store.changes(revision, 10)).to.deep.equal([]);
    expect(await rejectionOf(store.changes(revision - 10, 10))).to.have.property('name', 'CompactedError');
  });

  it('succeeds when the export has no objects', async () => {
    await importOf(store, await exportOf());
    expect(await scanned(store)).to.deep.equal([]);
    await refuseUnfinishedImport(store);
  });

  it('starts at a revision above all earlier revisions of the database, even if the revisions in the export are lower', async () => {
    await store.startHistory(70_000_000);
    const [revision = 0] = await written(store, create('old', ''));
    await written(store, { op: 'delete', key: key('old'), kind: 1, expect: revision });
    await importOf(store, await exportOf(create('a', '1')));
    expect((await scanned(store))[0]?.revision).to.be.above(71_000_000);
  });

  it('is refused when the database already has any object, and leaves the existing objects unchanged', async () => {
    await written(store, create('mine', '1'));
    const refusal = await rejectionOf(importOf(store, await exportOf(create('a', '1'))));
    expect(refusal).to.include({ name: 'StoreError', code: 'refused' });
    expect((await scanned(store)).map((row) => row.key)).to.deep.equal([key('mine')]);
    await refuseUnfinishedImport(store);
  });

  it('is marked as unfinished when it is interrupted after any commit, and is finished when it is repeated [slow]', async () => {
    const source = await exportOf(...many(3500));
    const failures: string[] = [];
    for (let commits = 0; ; commits += 1) {
      const attempt = await openEmptyStore();
      let left = commits;
      const commit: Store['commit'] = (batch) => {
        left -= 1;
        return left < 0 ? Promise.reject(new Error('the power went')) : attempt.commit(batch);
      };
      const failed = await rejectionOf(importOf(changed(attempt, { commit }), source));
      if (failed === undefined) {
        await attempt.close();
        break;
      }
      const refusal = await rejectionOf(refuseUnfinishedImport(attempt));
      failures.push(`${(await scanned(attempt)).length} rows: ${refusal === undefined ? 'not marked' : 'marked'}`);
      await importOf(attempt, source);
      expect(readWhole(bytes(await exported(attempt))).proved).to.include({
        sha256: source.proved.sha256,
        objects: 3500,
      });
      await refuseUnfinishedImport(attempt);
      await attempt.close();
    }
    expect(failures).to.deep.equal([
      '0 rows: not marked',
      '1 rows: marked',
      '1001 rows: marked',
      '2001 rows: marked',
      '3001 rows: marked',
      '3501 rows: marked',
    ]);
  });

  it('is refused when the database has a part of an unfinished import of another file', async () => {
    const full = changed(store, { compact: () => Promise.reject(new Error('the disk is full')) });
    expect(await rejectionOf(importOf(full, await exportOf(create('a', '1'))))).to.have.property(
      'message',
      'the disk is full',
    );
    const refusal = await rejectionOf(importOf(store, await exportOf(create('b', '1'))));
    expect(refusal).to.include({ code: 'refused' });
    expect((refusal as Error).message).to.contain('a part of an import of another file');
    expect(((await rejectionOf(refuseUnfinishedImport(store))) as Error).message).to.contain('was not finished');
  });

  it('fails and remains marked as unfinished when the database stores other data than the import wrote', async () => {
    const source = await exportOf(create('a', '1'), create('b', '2'));
    const spoiling: Store['commit'] = (batch) =>
      store.commit(batch.map((each) => (text(each.data) === '2' ? { ...each, data: bytes('3') } : each)));
    const failure = await rejectionOf(importOf(changed(store, { commit: spoiling }), source));
    expect((failure as Error).message).to.match(/^the database holds 2 objects, sha256 .*; the export has 2, sha256 /);
    expect(await rejectionOf(refuseUnfinishedImport(store))).to.include({ code: 'refused' });
  });
});
