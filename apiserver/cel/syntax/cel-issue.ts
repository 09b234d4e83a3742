/** A mistake in an expression, and its position. */
export interface CelIssue {
  /** The position in the source, in UTF-16 units. */
  readonly at: number;
  readonly message: string;
}

/** Thrown by the parser, which stops at the first mistake. */
export class CelSyntaxError extends Error {
  readonly issue: CelIssue;

  constructor(at: number, message: string) {
    super(message);
    this.name = 'CelSyntaxError';
    this.issue = { at, message };
  }
}

/** A message shows the line of the source only if the line has at most this number of characters. */
const maxShown = 1024;

/** Prints issues as kube-apiserver does: each with line, column and the line of the source. */
export function formatIssues(source: string, issues: readonly CelIssue[]): string {
  return issues.map((issue) => formatIssue(source, issue)).join('\n');
}

function formatIssue(source: string, { at, message }: CelIssue): string {
  const before = source.slice(0, at).split('\n');
  const line = before.length;
  const column = Array.from(before.at(-1) ?? '').length;
  const text = (source.split('\n')[line - 1] ?? '').replaceAll('\t', ' ');
  const head = `ERROR: <input>:${line}:${column + 1}: ${message}`;
  if (text.length > maxShown) return head;
  const characters = Array.from(text);
  const dots = characters.slice(0, column).map((each) => (isWide(each) ? '．' : '.'));
  const mark = isWide(characters[column] ?? '') ? '＾' : '^';
  return `${head}\n | ${text}\n | ${dots.join('')}${mark}`;
}

function isWide(character: string): boolean {
  return (character.codePointAt(0) ?? 0) > 0x7f;
}
