import { rmSync } from 'node:fs';

import { backUpDatabase } from './sqlite-backup.ts';
import { rowOf, storeErrorFrom, type SqlDatabase, type SqlStatement } from './sqlite-binding.ts';
import { SqliteCommitter } from './sqlite-committer.ts';
import { connect, readPragmas } from './sqlite-connection.ts';
import type { HashSecret } from '../../base/key-hash.ts';
import type { BegunScan, SqliteCalls } from './sqlite-protocol.ts';
import { SqliteKept } from './sqlite-kept.ts';
import { SqliteMarks } from './sqlite-marks.ts';
import { SqliteReader } from './sqlite-reader.ts';
import * as sql from './sqlite-statements.ts';
import { CompactedError, type OpenedStore } from '../store.ts';
import { StoreError } from '../store-error.ts';

interface Opened {
  readonly database: SqlDatabase;
  readonly committer: SqliteCommitter;
  readonly reader: SqliteReader;
  readonly kept: SqliteKept;
  readonly marks: SqliteMarks;
  readonly numbers: SqliteNumbers;
}

type Handlers = {
  readonly [Type in keyof SqliteCalls]: (
    request: SqliteCalls[Type]['request'],
  ) => SqliteCalls[Type]['answer'] | Promise<SqliteCalls[Type]['answer']>;
};

/**
 * A running store saves its list of the existing objects in the database again when the changes since the list was last
 * saved are at least this fraction of the number of objects. A start reads the list, and then only the later changes.
 */
const copiedShare = 1 / 2;

/**
 * Handles the requests of a store to its database: in a worker thread for a database in a file, in the thread that uses
 * the store for a database in memory.
 */
export class SqliteSession {
  #opened: Opened | undefined;
  readonly #backups = new Set<Promise<void>>();
  readonly #ending = new AbortController();

  readonly #handlers: Handlers = {
    open: async ({ path }) => {
      const database = await connect(path);
      // A process that was killed during a backup has left the unfinished file of the backup. It is deleted here.
      if (path !== undefined) rmSync(`${path}-backup`, { force: true });
      const committer = new SqliteCommitter(database, hashSecret());
      const reader = new SqliteReader(database);
      this.#opened = {
        database,
        committer,
        reader,
        kept: new SqliteKept(database),
        marks: new SqliteMarks(database),
        numbers: new SqliteNumbers(database),
      };
      return describeOpened(this.#opened);
    },
    commit: (batch) => this.#present().committer.commit(batch),
    beginScan: ({ kind }) => beginScan(this.#present(), kind),
    keys: ({ revisions }) => this.#present().reader.keys(revisions),
    rows: ({ revisions }) => this.#present().reader.rows(revisions),
    endScan: ({ scan }) => this.#present().reader.release(scan),
    changes: ({ after, limit }) => this.#present().reader.changes(after, limit),
    compact: ({ upTo, maxRows }) => compact(this.#present(), upTo, maxRows),
    numberOf: ({ name }) => numberOf(this.#present(), name),
    names: ({ prefix }) => namesOf(this.#present(), prefix),
    uniqueIndexes: ({ kind }) => this.#present().committer.uniqueIndexes(kind),
    claims: ({ kind }) => this.#present().committer.claims(kind),
    setClaims: (request) => this.#present().committer.setClaims(request, this.#present().reader.compactRevision),
    startHistory: ({ revision }) => startHistory(this.#present(), revision),
    readKept: ({ kind, from }) => this.#present().kept.read(kind, from),
    writeKept: (part) => this.#present().kept.write(part),
    dropKept: ({ kind }) => this.#present().kept.dropSome(kind),
    readMark: ({ kind }) => this.#present().marks.read(kind),
    writeMark: (mark) => this.#present().marks.write(mark),
    backUp: ({ path }) => this.#backUp(path),
    pragmas: () => readPragmas(this.#present().database),
    close: async () => {
      this.#ending.abort(notOpen());
      await Promise.allSettled(this.#backups);
      const { database, committer } = this.#present();
      this.#opened = undefined;
      committer.copyObjects(0);
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      database.close();
      return undefined;
    },
  };

  /** Handles a call. Rejects with CompactedError or StoreError; errors of the SQLite library become StoreErrors. */
  async answer<Type extends keyof SqliteCalls>(
    type: Type,
    request: SqliteCalls[Type]['request'],
  ): Promise<SqliteCalls[Type]['answer']> {
    try {
      return await this.#handlers[type](request);
    } catch (error) {
      throw error instanceof CompactedError ? error : storeErrorFrom(error);
    }
  }

  async #backUp(path: string): Promise<void> {
    const backup = backUpDatabase(this.#present().database, path, { signal: this.#ending.signal });
    this.#backups.add(backup);
    await backup.finally(() => this.#backups.delete(backup));
  }

  #present(): Opened {
    if (!this.#opened) throw notOpen();
    return this.#opened;
  }
}

function notOpen(): StoreError {
  return new StoreError('closed', 'the store is not open');
}

function describeOpened({ database, committer, reader }: Opened): OpenedStore {
  const { value } = rowOf(database.prepare<{ readonly value: string }>(sql.getMeta), 'epoch');
  return { revision: committer.revision, compactRevision: reader.compactRevision, epoch: value };
}

function hashSecret(): HashSecret {
  const [low = 0, high = 0] = crypto.getRandomValues(new Uint32Array(2));
  return [low, high];
}

function beginScan({ committer, reader }: Opened, kind: number | undefined): BegunScan {
  return { scan: reader.hold(committer.revision), revisions: committer.revisions(kind) };
}

function compact({ committer, reader }: Opened, upTo: number, maxRows: number): number {
  const bound = Math.min(upTo, committer.revision);
  committer.copyObjects(copiedShare);
  const { copied } = committer;
  const { dropped, compactRevision } = committer.transaction(() => reader.compact({ upTo: bound, maxRows, copied }));
  reader.compacted(compactRevision);
  return dropped;
}

function numberOf({ committer, numbers }: Opened, name: string): number {
  return numbers.numberOf(name, (work) => committer.transaction(work));
}

function namesOf({ database }: Opened, prefix: string): readonly string[] {
  const rows = database.prepare<{ readonly name: string }>(sql.listNames).all(prefix, prefix);
  return rows.map(({ name }) => name);
}

function startHistory(current: Opened, revision: number): OpenedStore {
  current.committer.startHistory(revision);
  current.reader.compacted(revision);
  return describeOpened(current);
}

interface NumberRow {
  readonly id: number;
}

/**
 * Gives each name of a kind or of an index a number, and stores it in the table `number`. The other tables have this
 * number instead of the name.
 */
class SqliteNumbers {
  readonly #find: SqlStatement<NumberRow>;
  readonly #add: SqlStatement;

  constructor(database: SqlDatabase) {
    this.#find = database.prepare(sql.getNumber);
    this.#add = database.prepare(sql.addNumber);
  }

  /** Returns the number of the name of a kind or index. If the name has none, assigns one, in a `transaction`. */
  numberOf(name: string, transaction: <Result>(work: () => Result) => Result): number {
    const known = this.#find.get(name);
    if (known !== undefined) return known.id;
    return transaction(() => {
      this.#add.run(name);
      return rowOf(this.#find, name).id;
    });
  }
}
