import type { Change, Claim, Operation, Outcome, Row, Store } from './store.ts';

/** The kind of all operations without another kind. */
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

export async function written(store: Store, ...batch: Operation[]): Promise<number[]> {
  return (await committed(store, batch)).map(revisionOf);
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
