import { isUtf8 } from 'node:buffer';
import type { Row } from '../store/store.ts';
import { exportFormat } from './export-format.ts';
import { LineCheck } from './line-check.ts';
import { ObjectsDigest } from './objects-digest.ts';
import type { Snapshot } from './snapshot.ts';

/** Where and when an export is made. */
export interface ExportOrigin {
  readonly epoch: string;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * The text of an export, whole lines at a time: a manifest, a line for each object by key, and a last line with their number
 * and digest. Rejects as {@link Snapshot.pages} does; what was given out by then has no last line, and is no export.
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

/** The bytes as they are stored: JSON text as a string, and anything that is no UTF-8 in base64. */
function recordOf({ key, revision, data }: Row): object {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return isUtf8(bytes)
    ? { key, revision, data: bytes.toString('utf8') }
    : { key, revision, base64: bytes.toString('base64') };
}
