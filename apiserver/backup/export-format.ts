/** What the first line says. */
export interface ExportManifest {
  /** The objects are those of this revision. */
  readonly revision: number;
  /** Names the history that the revision belongs to. */
  readonly epoch: string;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}

/** What the last line says. */
export interface ExportSummary {
  readonly objects: number;
  /** A digest of the objects alone: equal for every database that holds the same objects. */
  readonly sha256: string;
}

/** Its meaning, and that of the lines after it, never changes once released. */
export const exportFormat = 1;

/** The media type of newline-delimited JSON. */
export const exportMediaType = 'application/x-ndjson';

/** The largest object has 1.5 MiB, and a character of it takes at most two in a JSON string. */
export const maxLineBytes: number = 8 * 1024 * 1024;

/** The text is no export, or no longer what was written; the message names the line. */
export class ExportFileError extends Error {
  override readonly name = 'ExportFileError';
}
