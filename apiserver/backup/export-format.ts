/** The first line of an export. */
export interface ExportManifest {
  /** The revision at which all objects were read. */
  readonly revision: number;
  /** The epoch of the history to which the revision belongs. */
  readonly epoch: string;
  /** The time of the export: ISO 8601, in UTC. */
  readonly createdAt: string;
}

/** The last line of an export. */
export interface ExportSummary {
  readonly objects: number;
  /** A digest of only the objects: two databases with the same objects have the same digest. */
  readonly sha256: string;
}

/** The number of the format. The meaning of a released format never changes. */
export const exportFormat = 1;

/** The media type of newline-delimited JSON. */
export const exportMediaType = 'application/x-ndjson';

/**
 * The maximum number of bytes of a line. The largest object has 1.5 MiB. Its line contains the object as a JSON string,
 * in which each character of the object takes at most two characters.
 */
export const maxLineBytes: number = 8 * 1024 * 1024;

/**
 * The error for a text that is not an export, and for an export that was changed after it was written. The message
 * names the line, except for an empty file.
 */
export class ExportFileError extends Error {
  override readonly name = 'ExportFileError';
}
