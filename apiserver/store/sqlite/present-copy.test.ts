import { expect } from 'chai';
import fc from 'fast-check';

import type { SqlDatabase } from './sqlite-binding.ts';
import { SqliteCommitter } from './sqlite-committer.ts';
import { connect } from './sqlite-connection.ts';
import { packBatch } from '../packed-batch.ts';
import { SqliteReader } from './sqlite-reader.ts';
import * as sql from './sqlite-statements.ts';
import { create, key } from '../store-operations.fixture.ts';
import type { Operation } from '../store.ts';

const secret = [1, 2] as const;
const kinds = [1, 2];

type Step =
  | { readonly verb: 'write'; readonly name: number; readonly isDelete: boolean }
  | { readonly verb: 'copy' }
  | { readonly verb: 'restart' }
  | { readonly verb: 'compact'; readonly rows: number };

const write = fc.record({ verb: fc.constant('write' as const), name: fc.nat({ max: 7 }), isDelete: fc.boolean() });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: write },
  { weight: 1, arbitrary: fc.constantFrom({ verb: 'copy' as const }, { verb: 'restart' as const }) },
  { weight: 2, arbitrary: fc.record({ verb: fc.constant('compact' as const), rows: fc.integer({ min: 1, max: 6 }) }) },
);

/**
 * Executes the steps of a test on a SQLite database in memory. A step writes an object, stores the list of the objects
 * that exist, replaces the committer as a restart of the server does, or compacts the change log.
 */
class Restarts {
  readonly database: SqlDatabase;
  readonly #names = new Map<number, number>();
  #committer: SqliteCommitter;

  constructor(database: SqlDatabase) {
    this.database = database;
    this.#committer = new SqliteCommitter(database, secret, 1);
  }

  take(each: Step): void {
    if (each.verb === 'write') this.#write(each);
    else if (each.verb === 'copy') this.#committer.copyObjects(0);
    else if (each.verb === 'restart') this.#committer = new SqliteCommitter(this.database, [3, 4], 1);
    else this.#compact(each.rows);
  }

  /**
   * Creates a committer, as a restart of the server does. Returns the revisions of the objects that the committer finds
   * in the database, and the revision at which the stored list of objects was written; 0 when no list is stored.
   */
  restarted(): { readonly found: readonly number[][]; readonly copied: number } {
    const committer = new SqliteCommitter(this.database, [5, 6]);
    return { found: kinds.map((kind) => [...committer.revisions(kind)]), copied: committer.copied };
  }

  expected(): readonly number[][] {
    const of = (kind: number): number[] =>
      [...this.#names].flatMap(([name, at]) => (kindOf(name) === kind ? [at] : []));
    return kinds.map((kind) => of(kind).sort((a, b) => a - b));
  }

  #write({ name, isDelete }: { readonly name: number; readonly isDelete: boolean }): void {
    const expected = this.#names.get(name);
    const { op: _, unique: __, ...object } = { ...create(`n${name}`, 'x'), kind: kindOf(name) };
    const operation: Operation =
      expected === undefined
        ? { ...object, op: 'create' }
        : { ...object, op: isDelete ? 'delete' : 'update', expect: expected };
    const [revision = 0] = this.#committer.commit(packBatch([operation])).codes;
    expect(revision, key(`n${name}`)).to.be.above(0);
    if (operation.op === 'delete') this.#names.delete(name);
    else this.#names.set(name, revision);
  }

  #compact(maxRows: number): void {
    const { revision, copied } = this.#committer;
    const reader = new SqliteReader(this.database);
    this.#committer.transaction(() => reader.compact({ upTo: revision, maxRows, copied }));
  }
}

function kindOf(name: number): number {
  return (name % 2) + 1;
}

describe('the stored copy of the revisions of all present objects', () => {
  it('gives a restart the same objects as a read of all rows, whatever was written and compacted after the copy [slow]', async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const restarts = new Restarts(await connect(undefined));
      for (const each of steps) restarts.take(each);
      const expected = restarts.expected();
      expect(restarts.restarted().found).to.deep.equal(expected);
      restarts.database.exec(sql.dropPresent);
      expect(restarts.restarted()).to.deep.equal({ found: expected, copied: 0 });
      restarts.database.close();
    });
    await fc.assert(property, { numRuns: 200 });
  });

  for (const [damage, statement] of [
    [
      'without the last objects',
      'UPDATE present SET hashes = substr(hashes, 1, 8), revisions = substr(revisions, 1, 16)',
    ],
    ['without a kind', 'DELETE FROM present WHERE kind = 2'],
    ['with fewer hashes', 'UPDATE present SET hashes = substr(hashes, 5)'],
    ['with a part of a revision', 'UPDATE present SET revisions = substr(revisions, 2), hashes = substr(hashes, 2)'],
    ['with other hashes', 'UPDATE present SET hashes = randomblob(length(hashes))'],
    ['with other bytes as revisions', 'UPDATE present SET revisions = randomblob(length(revisions))'],
    ['of another revision', `UPDATE meta SET value = replace(value, '8 1 2', '7 1 2') WHERE name = 'present'`],
    ['with another secret', `UPDATE meta SET value = replace(value, '8 1 2', '8 1 3') WHERE name = 'present'`],
    ['with a header in another format', `UPDATE meta SET value = 'one two' WHERE name = 'present'`],
    ['of another kind', 'UPDATE present SET kind = kind + 7'],
    ['of another database', `UPDATE history SET key = key || '-of-another'`],
  ] as const) {
    it(`is ignored by a restart when it is a copy ${damage}`, async () => {
      const restarts = new Restarts(await connect(undefined));
      for (let name = 0; name < 8; name += 1) restarts.take({ verb: 'write', name, isDelete: false });
      restarts.take({ verb: 'copy' });
      expect(restarts.restarted().copied).to.equal(8);
      restarts.database.exec(statement);
      expect(restarts.restarted()).to.deep.equal({ found: restarts.expected(), copied: 0 });
      restarts.database.close();
    });
  }
});
