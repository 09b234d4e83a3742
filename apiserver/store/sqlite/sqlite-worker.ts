import { type MessagePort, parentPort } from 'node:worker_threads';

import { type SqlDatabase, storeErrorFrom } from './sqlite-binding.ts';
import { SqliteCommitter } from './sqlite-committer.ts';
import { connect, readPragmas } from './sqlite-connection.ts';
import type { AnswerMessage, CallMessage, SqliteCalls } from './sqlite-protocol.ts';
import { SqliteReader } from './sqlite-reader.ts';
import * as sql from './sqlite-statements.ts';
import { CompactedError, type OpenedStore } from '../store.ts';
import { StoreError } from '../store-error.ts';

interface Session {
  readonly database: SqlDatabase;
  readonly committer: SqliteCommitter;
  readonly reader: SqliteReader;
}

type Handlers = {
  readonly [Type in keyof SqliteCalls]: (
    request: SqliteCalls[Type]['request'],
  ) => SqliteCalls[Type]['answer'] | Promise<SqliteCalls[Type]['answer']>;
};

let opened: Session | undefined;

const handlers: Handlers = {
  open: async ({ path }) => {
    const database = await connect(path);
    opened = { database, committer: new SqliteCommitter(database), reader: new SqliteReader(database) };
    return describeOpened(opened);
  },
  commit: (batch) => session().committer.commit(batch),
  kinds: () => session().reader.kinds(),
  scan: ({ kind, after }) => session().reader.scan(kind, after),
  changes: ({ after, limit }) => session().reader.changes(after, limit),
  compact: ({ upTo, maxRows }) => compact(session(), upTo, maxRows),
  numberOf: ({ name }) => numberOf(session(), name),
  claims: ({ kind }) => session().committer.claims(kind),
  setClaims: (request) => session().committer.setClaims(request, session().reader.compactRevision),
  startHistory: ({ revision }) => startHistory(session(), revision),
  pragmas: () => readPragmas(session().database),
  close: () => {
    const { database } = session();
    opened = undefined;
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
    return undefined;
  },
};

function session(): Session {
  if (!opened) throw new StoreError('closed', 'the store is not open');
  return opened;
}

function describeOpened({ database, committer, reader }: Session): OpenedStore {
  const { value } = database.prepare(sql.getMeta).get('epoch') as { value: string };
  return { revision: committer.revision, compactRevision: reader.compactRevision, epoch: value };
}

function compact({ committer, reader }: Session, upTo: number, maxRows: number): number {
  const bound = Math.min(upTo, committer.revision);
  const { dropped, compactRevision } = committer.transaction(() => reader.compact(bound, maxRows));
  reader.compacted(compactRevision);
  return dropped;
}

function numberOf({ committer, database }: Session, name: string): number {
  return committer.transaction(() => {
    database.prepare(sql.addNumber).run(name);
    return (database.prepare(sql.getNumber).get(name) as { id: number }).id;
  });
}

function startHistory(current: Session, revision: number): OpenedStore {
  current.committer.startHistory(revision);
  current.reader.compacted(revision);
  return describeOpened(current);
}

async function serve(port: MessagePort, message: CallMessage): Promise<void> {
  const answer = await answerTo(message);
  port.postMessage(answer, transferOf(answer));
  if (message.type === 'close') port.close();
}

async function answerTo({ id, type, request }: CallMessage): Promise<AnswerMessage> {
  try {
    // The union of messages says that type and request belong together; the compiler cannot see it through the index.
    const handle = handlers[type] as (request: unknown) => unknown;
    return { id, answer: await handle(request) };
  } catch (error) {
    if (error instanceof CompactedError) return { id, compacted: error.compactRevision };
    const { code, message } = storeErrorFrom(error);
    return { id, failure: { code, message } };
  }
}

function transferOf(message: AnswerMessage): ArrayBuffer[] {
  const { bytes } = Object('answer' in message ? message.answer : undefined) as { bytes?: unknown };
  return bytes instanceof ArrayBuffer ? [bytes] : [];
}

const port = parentPort;
if (port) port.on('message', (message: CallMessage) => void serve(port, message));
