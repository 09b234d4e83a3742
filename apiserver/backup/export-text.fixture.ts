import { bytes, key } from '../store/store-operations.fixture.ts';
import { createSqliteStore } from '../store/sqlite/sqlite-store.ts';
import type { Operation, Store } from '../store/store.ts';
import type { ExportedObject } from './export-reader.ts';
import { ExportReader } from './export-reader.ts';
import type { ExportManifest, ExportSummary } from './export-format.ts';
import { Snapshot } from './snapshot.ts';
import { writeExport } from './write-export.ts';

export const epoch = '11111111-1111-4111-8111-111111111111';

export async function openEmptyStore(): Promise<Store> {
  const store = createSqliteStore({ memory: true });
  await store.open();
  return store;
}

/**
 * Contents of objects: texts of several scripts, with characters that JSON escapes and others that it does not, and
 * bytes that are not text.
 */
const contents: readonly Uint8Array[] = [
  bytes('{}'),
  bytes(''),
  bytes('\ufeff{"a":1}'),
  bytes('{"text":"äöü Ωж 漢字 🦊 \u2028\u2029 \\u0000 \\"quoted\\" \u0007"}'),
  bytes('line\nfeed\r\n'),
  Uint8Array.from({ length: 256 }, (_, value) => value),
  Uint8Array.from([0xed, 0xa0, 0x80]),
  new Uint8Array(1.5 * 2 ** 20).fill(0x22),
];

/**
 * Returns operations that create two objects for each item of `contents`: one of each of two kinds. One of the kinds is
 * Namespaced, and in the core group.
 */
export function exampleObjects(): readonly Operation[] {
  return contents.flatMap((data, at) => [
    { op: 'create', key: key(`n${at}`), kind: 1, data },
    { op: 'create', key: `/registry//letters/home/n${at}`, kind: 2, data },
  ]);
}

export async function exported(store: Store): Promise<string> {
  let all = '';
  for await (const lines of writeExport(await Snapshot.of(store), { epoch, nowMs: 0 })) all += lines;
  return all;
}

export interface ReadExport {
  readonly objects: readonly ExportedObject[];
  readonly proved: ExportManifest & ExportSummary;
}

/** Reads a whole export in pieces of the given size. */
export function readWhole(data: Uint8Array, pieceBytes: number = data.byteLength): ReadExport {
  const reader = new ExportReader();
  const objects: ExportedObject[] = [];
  for (let from = 0; from < data.byteLength; from += pieceBytes) {
    objects.push(...reader.push(data.subarray(from, from + pieceBytes)));
  }
  return { objects, proved: reader.end() };
}
