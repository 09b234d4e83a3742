import type { Change, Claim, Operation, Outcome, Row, Store } from './store.ts';

/** The number of the objects' kind, in the operations that these functions return. */
export const kind = 1;

export function key(name: string, plural = 'persons'): string {
  return `/registry/example.com/${plural}/${name}`;
}

export function bytes(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

export function text(data: Uint8Array | undefined): string | undefined {
  return data && new TextDecoder().decode(data);
}

export function create(name: string, data: string, add: readonly Claim[] = []): Operation {
  return { op: 'create', key: key(name), kind, data: bytes(data), unique: { add, remove: [] } };
}

export function revisionOf(outcome: Outcome | undefined): number {
  if (!outcome || !('revision' in outcome)) throw new Error(`not written: ${JSON.stringify(outcome)}`);
  return outcome.revision;
}

export async function committed(store: Store, batch: readonly Operation[]): Promise<readonly Outcome[]> {
  return (await store.commit(batch)).outcomes;
}

/** Writes operations, in batches that fit into one request of the store. Returns their revisions. */
export async function written(store: Store, ...operations: Operation[]): Promise<number[]> {
  const size = store.batchLimits?.maxOperations ?? operations.length;
  const revisions: number[] = [];
  for (let from = 0; from < operations.length; from += size) {
    revisions.push(...(await committed(store, operations.slice(from, from + size))).map(revisionOf));
  }
  return revisions;
}

export async function scanned(store: Store, only?: number): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const page of store.scan(only)) rows.push(...page);
  return rows;
}

export function readable({ data, previous, ...rest }: Change): object {
  return { ...rest, data: text(data), previous: previous && { ...previous, data: text(previous.data) } };
}

export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}
