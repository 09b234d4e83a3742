// The limit for a store on PostgreSQL: the same statements over the same kind of connection in a loop, without anything
// else.
import { randomUUID } from 'node:crypto';
import { answerCalls } from '../processes/answer-calls.ts';
import { figuresOf } from '../measure/figures.ts';
import type { Figures } from '../measure/figures.ts';
import { runInFlight } from '../measure/in-flight.ts';
import { storedPerson } from '../load/person.ts';
import { loadModule } from '../processes/server-modules.ts';
import type { PostgresConnection } from '../processes/server-modules.ts';

const { PostgresConnection: Connection } = await loadModule('store/postgres/postgres-connection');
const { commitOfGenerations } = await loadModule('store/postgres/commit-statements');
const { lockCounter } = await loadModule('store/postgres/postgres-statements');

/** The codes of the operations in the column `op` of the log. */
const codes = { create: 0, update: 1 } as const;
const data = Buffer.from(storedPerson());

let url: string;
let connection: PostgresConnection;
let created = 0;
let updated = 0;
/** The revisions of the prepared objects, by the number of the object. Updates change these objects in turn. */
let revisions: number[] = [];

export interface BareBatches {
  readonly verb: 'create' | 'update';
  readonly count: number;
  /** The number of operations in one transaction. */
  readonly batch: number;
}

export interface BareSingles {
  readonly verb: 'create' | 'update';
  readonly count: number;
  readonly connections: number;
}

/** Opens a database that already has the store's tables. */
async function open(database: string): Promise<void> {
  url = database;
  connection = await Connection.open(url);
}

/** Creates, in one transaction, the objects that updates change in turn. */
async function prepare(count: number): Promise<void> {
  revisions = await commit(connection, 'create', numbersFrom(0, count));
  created = count;
}

/**
 * Writes one transaction after the other, and sends all messages of a transaction together. The latency of an operation
 * is that of its transaction.
 */
async function writeBatches({ verb, count, batch }: BareBatches): Promise<Figures> {
  const latencies = new Float64Array(count);
  const startMs = performance.now();
  for (let from = 0; from < count; from += batch) {
    const size = Math.min(batch, count - from);
    const sinceMs = performance.now();
    await writeNext(connection, verb, size);
    latencies.fill(performance.now() - sinceMs, from, from + size);
  }
  return figuresOf(latencies, performance.now() - startMs);
}

/** Writes one operation per transaction, on as many connections as there are writers. */
async function writeSingly({ verb, count, connections }: BareSingles): Promise<Figures> {
  const idle = await Promise.all(Array.from({ length: connections }, () => Connection.open(url)));
  const operation = async (): Promise<void> => {
    const taken = idle.pop();
    if (taken === undefined) throw new Error('more writers than connections');
    await writeNext(taken, verb, 1);
    idle.push(taken);
  };
  const figures = await runInFlight({ count, width: connections, operation });
  await Promise.all(idle.map((each) => each.end()));
  return figures;
}

async function writeNext(on: PostgresConnection, verb: 'create' | 'update', size: number): Promise<void> {
  if (verb === 'create') {
    const from = created;
    created += size;
    await commit(on, verb, numbersFrom(from, size));
    return;
  }
  const numbers = numbersFrom(updated, size).map((number) => number % revisions.length);
  updated += size;
  const written = await commit(on, verb, numbers);
  for (const [at, number] of numbers.entries()) revisions[number] = written[at] ?? 0;
}

function numbersFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => first + at);
}

/** Commits one transaction, and returns the revisions of its objects. */
async function commit(
  on: PostgresConnection,
  verb: 'create' | 'update',
  numbers: readonly number[],
): Promise<number[]> {
  const parameters = parametersOf(verb, numbers);
  const [, , rows] = await Promise.all(
    on.together(
      () =>
        [
          on.execute('BEGIN ISOLATION LEVEL READ COMMITTED'),
          on.query(lockCounter),
          on.query<{ code: number }>(commitOfGenerations, parameters),
          on.execute('COMMIT'),
        ] as const,
    ),
  );
  const refused = rows.find(({ code }) => code <= 0);
  if (refused !== undefined) throw new Error(`a ${verb} was refused with ${refused.code}`);
  return rows.map(({ code }) => code);
}

/**
 * Returns the parameters in the order in which the statement numbers them: the columns of the operations, the data of
 * all objects as one value, the id of the transaction, and the required generation of the indexes.
 */
function parametersOf(verb: 'create' | 'update', numbers: readonly number[]): unknown[] {
  const bytes = Buffer.allocUnsafe(numbers.length * data.length);
  for (const at of numbers.keys()) data.copy(bytes, at * data.length);
  const constant = (value: number): number[] => new Array<number>(numbers.length).fill(value);
  return [
    constant(codes[verb]),
    constant(1),
    numbers.map((number) => `/registry/people.example.com/persons/bare-${number}`),
    verb === 'update' ? numbers.map((number) => revisions[number]) : constant(-1),
    numbers.map((_, at) => at * data.length + 1),
    constant(data.length),
    bytes,
    randomUUID(),
    constant(1),
    [1],
    [0],
  ];
}

/** Executes statements that a case sends. */
async function execute(sql: string): Promise<void> {
  await connection.execute(sql);
}

answerCalls({ open, prepare, writeBatches, writeSingly, execute });
