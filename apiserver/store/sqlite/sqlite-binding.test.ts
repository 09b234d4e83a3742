import { expect } from 'chai';

import { betterSqlite3, nodeSqlite, openDatabase, storeErrorFrom } from './sqlite-binding.ts';
import { SqliteCommitter } from './sqlite-committer.ts';
import { connect } from './sqlite-connection.ts';
import { packBatch, unpackOutcomes } from '../packed-batch.ts';
import type { Operation } from '../store.ts';

function create(name: string, size = 10): Operation {
  return { op: 'create', key: `/registry/g/p/${name}`, kind: 1, data: new Uint8Array(size) };
}

function thrownBy(body: () => unknown): unknown {
  try {
    return body();
  } catch (error) {
    return error;
  }
}

describe('SQLite bindings', () => {
  it('are tried in order, and the first one that the runtime has is used', async () => {
    const absent = { name: 'absent', load: async () => undefined };
    const database = await openDatabase(':memory:', [absent, nodeSqlite, betterSqlite3]);
    expect(database.prepare('SELECT 1 AS one').get()).to.include({ one: 1 });
    database.close();
  });

  it('cause an error that says what to do if the runtime has none of the bindings', async () => {
    const broken = { name: 'broken', load: () => Promise.reject(new Error('no binary')) };
    const absent = { name: 'absent', load: async () => undefined };
    const error = await openDatabase(':memory:', [absent, broken]).catch((reason: unknown) => reason);
    expect(String(error)).to.match(/absent and broken.*Node 22\.13.*better-sqlite3/);
    expect(error).to.have.nested.property('cause.errors[0].message', 'no binary');
  });
});

describe('SQLite on a failing disk', () => {
  it('rejects a batch with the StoreError code "full" when there is no space, writes no part of it, and accepts it when there is space again', async () => {
    const database = await connect(undefined);
    const committer = new SqliteCommitter(database, [1, 2]);
    committer.commit(packBatch([create('a')]));
    database.exec('PRAGMA max_page_count = 40');
    const error = thrownBy(() => committer.commit(packBatch([create('b'), create('c', 500_000)])));
    expect(storeErrorFrom(error)).to.include({ name: 'StoreError', code: 'full' });
    expect(committer.revision).to.equal(1);
    database.exec('PRAGMA max_page_count = 100000');
    const outcomes = unpackOutcomes(committer.commit(packBatch([create('b'), create('c', 500_000)])));
    expect(outcomes).to.deep.equal([{ revision: 2 }, { revision: 3 }]);
    database.close();
  });

  it('reports the code "readOnly" for a read-only database, and the code "refused" for a violated constraint or an unknown error', async () => {
    const database = await connect(undefined);
    const insert = database.prepare('INSERT INTO number (id, name) VALUES (?, ?)');
    expect(storeErrorFrom(thrownBy(() => insert.run(2, null)))).to.include({ code: 'refused' });
    database.exec('PRAGMA query_only = 1');
    expect(storeErrorFrom(thrownBy(() => insert.run(2, 'two')))).to.include({ code: 'readOnly' });
    database.close();
    expect(storeErrorFrom('odd')).to.include({ code: 'refused' });
  });
});
