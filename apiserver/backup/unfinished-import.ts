import type { Row, Store } from '../store/store.ts';
import { StoreError } from '../store/store-error.ts';

/**
 * The object that marks a database as an unfinished import. It is written before the first imported object, and deleted
 * once all objects have been checked. No kind gets the number 0 from the store, so no model reads this object.
 */
const marker = { kind: 0, key: '/import' } as const;

/** True for the object that marks an unfinished import. */
export function isMarker({ key }: Pick<Row, 'key'>): boolean {
  return key === marker.key;
}

/** Returns the sha256 of the export whose import into the database is unfinished; undefined when there is none. */
export async function unfinishedImport(store: Store): Promise<string | undefined> {
  const row = await findMarker(store);
  return row && Buffer.from(row.data).toString('utf8');
}

/**
 * Rejects with StoreError `refused` when the database has an unfinished import, because some of its objects may be
 * missing.
 */
export async function refuseUnfinishedImport(store: Store): Promise<void> {
  if ((await unfinishedImport(store)) === undefined) return;
  const message =
    'the database holds a part of an import that was not finished: run homeostat import again with the same file';
  throw new StoreError('refused', message);
}

export async function beginImport(store: Store, sha256: string): Promise<void> {
  await commitOne(store, { op: 'create', ...marker, data: Buffer.from(sha256) });
}

export async function finishImport(store: Store): Promise<void> {
  const row = await findMarker(store);
  if (row !== undefined) await commitOne(store, { op: 'delete', ...marker, expect: row.revision });
}

async function findMarker(store: Store): Promise<Row | undefined> {
  for await (const [row] of store.scan(marker.kind)) return row;
  return undefined;
}

async function commitOne(store: Store, operation: Parameters<Store['commit']>[0][number]): Promise<void> {
  const { outcomes } = await store.commit([operation]);
  const [outcome] = outcomes;
  if (!outcome || 'conflict' in outcome) throw new StoreError('diverged', 'another program writes to the database');
}
