// The limit of a store on etcd: the same transactions with the same library in a loop, nothing around them.
import { systemClock } from '@homeostat/controller-runtime';
import { answerCalls } from '../answer-calls.ts';
import type { Figures } from '../figures.ts';
import { runInFlight } from '../in-flight.ts';
import { storedPerson } from '../person.ts';
import { loadModule } from '../server-modules.ts';
import type { EtcdConnection } from '../server-modules.ts';

const { EtcdConnection: Connection } = await loadModule('store/etcd/etcd-connection');

const data = Buffer.from(storedPerson());

let connection: EtcdConnection;
let written = 0;

export interface BareWrites {
  readonly count: number;
  /** Writes in one transaction. */
  readonly size: number;
  /** Transactions at the same time. */
  readonly width: number;
}

async function open(url: string): Promise<void> {
  const endpoint = /^etcd:\/\/([^,/]+)/.exec(url)?.[1] ?? '';
  connection = await Connection.open(endpoint, { tls: undefined, user: undefined, clock: systemClock });
  await connection.call('Maintenance/Status', {});
  connection.ready();
}

/** With several writes in a transaction, the objects are read before and a log is written, as a store does. */
async function write({ count, size, width }: BareWrites): Promise<Figures> {
  const transactions = Math.ceil(count / size);
  const figures = await runInFlight({ count: transactions, width, operation: () => transact(size) });
  return { ...figures, opsPerSecond: figures.opsPerSecond * size };
}

async function transact(size: number): Promise<void> {
  const keys = Array.from({ length: size }, () => Buffer.from(`/bare/object/1/registry/persons/${written++}`));
  const puts = keys.map((key) => ({ request_put: { key, value: data } }));
  const absent = { result: 0, target: 0, version: 0 } as const;
  if (size === 1) {
    const compare = keys.map((key) => ({ ...absent, key }));
    await connection.call('KV/Txn', { compare, success: puts });
    return;
  }
  const reads = keys.map((key) => ({ request_range: { key, serializable: true } }));
  await connection.call('KV/Txn', { success: reads });
  const log = { key: Buffer.from(`/bare/log/${written}`), value: Buffer.concat(keys.map(() => data)) };
  const head = { key: Buffer.from('/bare/head'), value: Buffer.alloc(200, 1) };
  const success = [{ request_put: head }, { request_put: log }, ...puts];
  await connection.call('KV/Txn', { compare: [{ ...absent, key: Buffer.from('/bare/exclusive') }], success });
}

answerCalls({ open, write });
