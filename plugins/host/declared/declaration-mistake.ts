/** A mistake in a plugin's YAML files, with its file, document and line. */
export interface DeclarationMistake {
  /** Relative to the plugin's folder. */
  readonly file: string;
  /** The numbers of the document and the line, from 1; absent for a file that cannot be read. */
  readonly document?: number;
  readonly line?: number;
  /** The path of the field in the file; absent if the mistake is not about a single field. */
  readonly field?: string;
  readonly message: string;
}

/** The maximum number of mistakes in one error, which becomes a log line and a status. */
const maxTold = 100;

/** Returns one error for all mistakes, in the order of files and lines. */
export function declarationError(mistakes: readonly DeclarationMistake[]): Error {
  const told = mistakes.toSorted(comparePlaces).slice(0, maxTold).map(formatMistake);
  const more = mistakes.length > maxTold ? [`and ${mistakes.length - maxTold} more`] : [];
  return new Error([...told, ...more].join('; '));
}

/** Returns the message of a mistake, preceded by the file, the document and the line. */
export function formatMistake({ file, document, line, field, message }: DeclarationMistake): string {
  const place = document === undefined ? file : `${file}: document ${document}, line ${line ?? '?'}`;
  return field === undefined ? `${place}: ${message}` : `${place}: ${field}: ${message}`;
}

function comparePlaces(a: DeclarationMistake, b: DeclarationMistake): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return (a.document ?? 0) - (b.document ?? 0) || (a.line ?? 0) - (b.line ?? 0);
}
