import { expect } from 'chai';

import { keyHash } from '../../base/key-hash.ts';
import { SqliteCommitter } from './sqlite-committer.ts';
import { connect } from './sqlite-connection.ts';
import { packBatch, unpackOutcomes } from '../packed-batch.ts';
import type { Operation, Outcome } from '../store.ts';

const secret = [1, 2] as const;
const kind = 1;
const data = new Uint8Array(1);

/** Returns two keys with equal hashes. */
function equalKeys(): readonly [string, string] {
  const found = new Map<number, string>();
  for (let at = 0; ; at += 1) {
    const key = `/registry/g/p/${at}`;
    const hash = keyHash(key, secret);
    const other = found.get(hash);
    if (other !== undefined) return [other, key];
    found.set(hash, key);
  }
}

describe('objects whose keys have equal hashes', () => {
  it('are distinguished in every operation, and after a restart', async () => {
    const [one, two] = equalKeys();
    const database = await connect(undefined);
    let committer = new SqliteCommitter(database, secret);
    const commit = (...batch: Operation[]): readonly Outcome[] => unpackOutcomes(committer.commit(packBatch(batch)));
    const change = (op: 'update' | 'delete', key: string, expected: number): Operation => {
      return { op, key, kind, expect: expected, ...(op === 'update' ? { data } : {}) };
    };
    expect(commit({ op: 'create', key: one, kind, data })).to.deep.equal([{ revision: 1 }]);
    expect(commit(change('update', two, 1), change('delete', two, 1))).to.deep.equal([
      { conflict: 'notFound' },
      { conflict: 'notFound' },
    ]);
    expect(commit({ op: 'create', key: two, kind, data })).to.deep.equal([{ revision: 2 }]);
    committer = new SqliteCommitter(database, secret);
    expect(commit({ op: 'create', key: one, kind, data }, { op: 'create', key: two, kind, data })).to.deep.equal([
      { conflict: 'exists' },
      { conflict: 'exists' },
    ]);
    expect(commit(change('update', one, 2), change('update', two, 1))).to.deep.equal([
      { conflict: 'revision' },
      { conflict: 'revision' },
    ]);
    expect(commit(change('delete', one, 1), change('update', two, 2))).to.deep.equal([
      { revision: 3 },
      { revision: 4 },
    ]);
    committer = new SqliteCommitter(database, secret);
    expect([...committer.revisions(kind)]).to.deep.equal([4]);
    expect(commit(change('delete', two, 4))).to.deep.equal([{ revision: 5 }]);
    expect([...committer.revisions()]).to.deep.equal([]);
    database.close();
  });
});
