// The limit for a store on etcd: the same transactions with the same library in a loop, without anything else.
import { systemClock } from '@homeostat/controller-runtime';
import { answerCalls } from '../processes/answer-calls.ts';
import type { Figures } from '../measure/figures.ts';
import { runInFlight } from '../measure/in-flight.ts';
import { storedPerson } from '../load/person.ts';
import { loadModule } from '../processes/server-modules.ts';
import type { EtcdConnection } from '../processes/server-modules.ts';

const { EtcdConnection: Connection } = await loadModule('store/etcd/etcd-connection');

const data = Buffer.from(storedPerson());
const headKey = Buffer.from('/bare/head');
const absent = { result: 0, target: 0, version: 0 } as const;

let connection: EtcdConnection;
let written = 0;

export interface BareWrites {
  readonly count: number;
  /** The number of writes in one transaction. */
  readonly size: number;
  /** The number of transactions at the same time. */
  readonly width: number;
}

export interface WritesInTurn extends Omit<BareWrites, 'width'> {
  /**
   * The position of this process (`at`) among all processes that write in turn, and the number of these processes
   * (`of`).
   */
  readonly at: number;
  readonly of: number;
}

async function open(url: string): Promise<void> {
  const endpoint = /^etcd:\/\/([^,/]+)/.exec(url)?.[1] ?? '';
  connection = await Connection.open(endpoint, { tls: undefined, user: undefined, clock: systemClock });
  await connection.call('Maintenance/Status', {});
  connection.ready();
}

/**
 * Creates objects in transactions. For a transaction with several objects, the function first reads their keys, and
 * also writes a log entry and the head key, as the store does. The store keeps its latest revision in its head key.
 */
async function write({ count, size, width }: BareWrites): Promise<Figures> {
  return runTransactions({ count, size, width }, () => (size === 1 ? createOne() : createSeveral(size)));
}

/**
 * Writes in turn with other processes. Each transaction stores the position of the next process in the head key, which
 * every process watches.
 */
async function writeInTurn({ count, size, at, of }: WritesInTurn): Promise<Figures> {
  const turns = await Turns.start(at);
  const figures = await runTransactions({ count, size, width: 1 }, async () => {
    const keys = newKeys(size);
    await read(keys);
    const found = await turns.own();
    const next = Buffer.from(`${(at + 1) % of}`.padEnd(200));
    const compare = [{ result: 0, target: 3, key: headKey, value: found } as const];
    const { succeeded } = await connection.call('KV/Txn', { compare, success: putsOf(keys, next) });
    if (!succeeded)
      throw new Error('another process has changed the head key while it was the turn of this process to write');
    turns.wrote(found, next);
  });
  turns.end();
  return figures;
}

/** Stores 0 in the head key, so that process 0 may write first. */
async function beginTurns(): Promise<void> {
  await connection.call('KV/Txn', { success: [{ request_put: { key: headKey, value: Buffer.from('0') } }] });
}

/**
 * Creates objects in transactions. Each transaction creates several objects and one log entry, but does not write the
 * head key. The only condition of a transaction is that its objects do not exist yet. etcd checks this condition in the
 * transaction, so the function reads nothing before the transaction.
 */
async function writeAlone({ count, size }: BareWrites): Promise<Figures> {
  return runTransactions({ count, size, width: 1 }, async () => {
    const keys = newKeys(size);
    const compare = keys.map((key) => ({ ...absent, key }));
    const [, ...success] = putsOf(keys, data);
    await connection.call('KV/Txn', { compare, success });
  });
}

async function runTransactions(
  { count, size, width }: BareWrites,
  operation: () => Promise<unknown>,
): Promise<Figures> {
  const figures = await runInFlight({ count: Math.ceil(count / size), width, operation });
  return { ...figures, opsPerSecond: figures.opsPerSecond * size };
}

async function createOne(): Promise<void> {
  const keys = newKeys(1);
  const compare = keys.map((key) => ({ ...absent, key }));
  await connection.call('KV/Txn', { compare, success: keys.map((key) => ({ request_put: { key, value: data } })) });
}

async function createSeveral(size: number): Promise<void> {
  const keys = newKeys(size);
  await read(keys);
  const compare = [{ ...absent, key: Buffer.from('/bare/exclusive') }];
  await connection.call('KV/Txn', { compare, success: putsOf(keys, Buffer.alloc(200, 1)) });
}

function newKeys(size: number): readonly Buffer[] {
  const next = (): string => `${process.pid}-${written++}`;
  return Array.from({ length: size }, () => Buffer.from(`/bare/object/1/registry/persons/${next()}`));
}

async function read(keys: readonly Buffer[]): Promise<void> {
  await connection.call('KV/Txn', { success: keys.map((key) => ({ request_range: { key, serializable: true } })) });
}

/** Returns put operations in this order: one for the head key, one for a log entry, and one for each object's key. */
function putsOf(keys: readonly Buffer[], head: Buffer): { readonly request_put: { key: Buffer; value: Buffer } }[] {
  const log = { key: Buffer.from(`/bare/log/${process.pid}-${written}`), value: Buffer.concat(keys.map(() => data)) };
  const puts = keys.map((key) => ({ request_put: { key, value: data } }));
  return [{ request_put: { key: headKey, value: head } }, { request_put: log }, ...puts];
}

/**
 * Lets several processes write one after the other. The value of the head key is the number of the process that may
 * write next. This class follows the value with a watch, and waits until it is the number of this process.
 */
class Turns {
  readonly #at: number;
  #head: Buffer = Buffer.alloc(0);
  #wake: (() => void) | undefined;
  readonly #watch: { cancel(): void };

  private constructor(at: number, started: () => void) {
    this.#at = at;
    const watch = connection.stream('Watch/Watch');
    watch.on('data', ({ created, events }) => {
      if (created) started();
      this.#see(events.at(-1)?.kv.value);
    });
    // The end of the watch also emits an error. Without a listener, this error would end the process.
    watch.on('error', () => undefined);
    watch.write({ create_request: { key: headKey } });
    this.#watch = watch;
  }

  static async start(at: number): Promise<Turns> {
    const turns = await new Promise<Turns>((resolve) => {
      const started: Turns = new Turns(at, () => resolve(started));
    });
    const { kvs } = await connection.call('KV/Range', { key: headKey });
    // If the watch has already reported a value of the head key, this read may be older, so its result is not used. The
    // watch also reports each later value.
    if (turns.#head.length === 0) turns.#see(kvs[0]?.value);
    return turns;
  }

  /** Waits until the value of the head key is the number of this process. Resolves with this value. */
  async own(): Promise<Buffer> {
    while (Number(this.#head.toString()) !== this.#at) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#head;
  }

  /**
   * Sets the known value of the head key after this process has changed it. If the watch has already reported a newer
   * value, keeps the newer value.
   */
  wrote(before: Buffer, after: Buffer): void {
    if (this.#head === before) this.#head = after;
  }

  end(): void {
    this.#watch.cancel();
  }

  #see(head: Buffer | undefined): void {
    if (head === undefined) return;
    this.#head = head;
    this.#wake?.();
  }
}

answerCalls({ open, write, beginTurns, writeInTurn, writeAlone });
