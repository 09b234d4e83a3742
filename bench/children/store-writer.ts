// A child process that uses our store on a database, without a server. It measures writes with the group commit of a
// server, the start of the store, and a scan of all objects. Benchmarks compare the writes of this process with those
// of the bare database, and the start of a server with the scan of this process.
import { randomUUID } from 'node:crypto';
import { systemClock } from '@homeostat/controller-runtime';
import { silentLogger } from '@homeostat/controller-runtime/api';
import { answerCalls } from '../processes/answer-calls.ts';
import type { Figures } from '../measure/figures.ts';
import { runInFlight } from '../measure/in-flight.ts';
import type { InFlightFigures } from '../measure/in-flight.ts';
import { storedPerson } from '../load/person.ts';
import { loadModule } from '../processes/server-modules.ts';
import type { GroupCommit, Operation, Store } from '../processes/server-modules.ts';

const { openStore } = await loadModule('store/open/database-url');
const { GroupCommit: Commits } = await loadModule('store/group-commit');

const data = Buffer.from(storedPerson());

let store: Store;
let commits: GroupCommit;
let created = 0;
let updated = 0;
/** The revisions of the prepared objects, by the number of the object. Updates change these objects in turn. */
let revisions: number[] = [];

export interface StoreWrites {
  readonly verb: 'create' | 'update';
  readonly count: number;
  /** The number of operations at the same time. */
  readonly width: number;
}

export interface StoreStart {
  readonly openMs: number;
  readonly scanMs: number;
}

async function open(url: string): Promise<void> {
  store = await openStore(url, { clock: systemClock, logger: silentLogger, uuid: randomUUID });
  await store.open();
  const onError = (error: unknown): void => console.error(error);
  // A server subscribes to new revisions, so this process does so, too. Its listener ignores them.
  store.subscribe(() => undefined);
  // `follow` does nothing: this process never has to wait for the changes of other replicas.
  commits = new Commits(store, { onError, follow: async () => undefined });
}

/** Creates the objects that the updates of the benchmark change later. */
async function prepare(count: number): Promise<void> {
  revisions = await Promise.all(Array.from({ length: count }, (_, number) => submit(operationOn('old', number))));
}

function write({ verb, count, width }: StoreWrites): Promise<InFlightFigures> {
  return runInFlight({ count, width, operation: verb === 'create' ? create : update });
}

async function create(): Promise<void> {
  await submit(operationOn('new', created++));
}

async function update(): Promise<void> {
  const number = updated++ % revisions.length;
  revisions[number] = await submit({ ...operationOn('old', number), op: 'update', expect: revisions[number] ?? 0 });
}

/**
 * Returns an operation whose key belongs to this process only. As in the registry, the operation contains the
 * generation of the kind's indexes.
 */
function operationOn(name: 'old' | 'new', number: number): Operation {
  const key = `/registry/people.example.com/persons/${name}-${process.pid}-${number}`;
  return { op: 'create', key, kind: 1, data, generation: 0 };
}

async function submit(operation: Operation): Promise<number> {
  const outcome = await commits.submit(operation);
  if (!('revision' in outcome)) throw new Error(`${operation.key}: ${outcome.conflict}`);
  return outcome.revision;
}

/** Reads and parses every object once. In the figures, `p50Ms` is the time of all reads together. */
async function scan(url: string): Promise<Figures> {
  await open(url);
  const startMs = performance.now();
  let count = 0;
  for await (const page of store.scan()) {
    for (const row of page) JSON.parse(Buffer.from(row.data).toString());
    count += page.length;
  }
  const elapsedMs = performance.now() - startMs;
  await store.close();
  return { opsPerSecond: (count / elapsedMs) * 1000, p50Ms: elapsedMs };
}

/** Opens the database, and reads the objects of one kind, as a server does at its start. */
async function start({ url, kind }: { readonly url: string; readonly kind: number }): Promise<StoreStart> {
  const startMs = performance.now();
  await open(url);
  const openedMs = performance.now();
  let bytes = 0;
  for await (const rows of store.scan(kind)) for (const { data: stored } of rows) bytes += stored.byteLength;
  if (bytes === 0) throw new Error(`${url} has no objects of kind ${kind}`);
  const scanMs = performance.now() - openedMs;
  await store.close();
  return { openMs: openedMs - startMs, scanMs };
}

answerCalls({ open, prepare, write, scan, start });
