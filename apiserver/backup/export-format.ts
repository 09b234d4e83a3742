/** The first line of an export. */
export interface ExportManifest {
  /** The objects are those of this revision. */
  readonly revision: number;
  /** Names the history that the revision belongs to. */
  readonly epoch: string;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}

/** The last line of an export. */
export interface ExportSummary {
  readonly objects: number;
  /** A digest of the objects alone: equal for every database that holds the same objects. */
  readonly sha256: string;
}

/** The format's number; the meaning of a released format never changes. */
export const exportFormat = 1;

/** The media type of newline-delimited JSON. */
export const exportMediaType = 'application/x-ndjson';

/**
 * The maximum number of bytes of a line: the largest object has 1.5 MiB, and each of its characters takes at most two
 * in a JSON string.
 */
export const maxLineBytes: number = 8 * 1024 * 1024;

/** The text is not an export, or was changed since it was written; the message names the line. */
export class ExportFileError extends Error {
  override readonly name = 'ExportFileError';
}
