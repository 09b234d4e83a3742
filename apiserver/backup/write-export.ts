import { isUtf8 } from 'node:buffer';
import type { Row } from '../store/store.ts';
import { exportFormat } from './export-format.ts';
import { LineCheck } from './line-check.ts';
import { ObjectsDigest } from './objects-digest.ts';
import type { Snapshot } from './snapshot.ts';

/** The database and the time from which an export comes. */
export interface ExportOrigin {
  readonly epoch: string;
  /** The time of the export, in milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * Yields the text of an export, in pieces of whole lines: the manifest, a line for each object in the order of keys,
 * and a last line with their number and digest. Rejects as {@link Snapshot.pages} does. A text without the last line is
 * not an export.
 */
export async function* writeExport(
  snapshot: Snapshot,
  { epoch, nowMs }: ExportOrigin,
): AsyncGenerator<string, void, undefined> {
  const check = new LineCheck();
  const digest = new ObjectsDigest();
  const createdAt = new Date(nowMs).toISOString();
  yield check.seal({ homeostat: 'export', format: exportFormat, revision: snapshot.revision, epoch, createdAt });
  for await (const page of snapshot.pages()) {
    let lines = '';
    for (const row of page) {
      digest.add(row);
      lines += check.seal(recordOf(row));
    }
    if (lines !== '') yield lines;
  }
  const { objects } = digest;
  yield check.seal({ objects, sha256: digest.sum() });
}

/**
 * Returns the record of an object for its line. The record has the object's bytes as a string, or in base64 when they
 * are not UTF-8.
 */
function recordOf({ key, revision, data }: Row): object {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return isUtf8(bytes)
    ? { key, revision, data: bytes.toString('utf8') }
    : { key, revision, base64: bytes.toString('base64') };
}
