/** Finds the line of a position in a text. Lines end with LF, CRLF or CR, as in YAML. */
export class LineIndex {
  /** The offset at which each line begins. */
  readonly #starts: readonly number[];
  readonly #firstLine: number;

  /**
   * Creates an index of a text. If the text is a piece of a larger text, `firstLine` is the line in the larger text at
   * which the piece begins.
   */
  constructor(text: string, firstLine = 1) {
    this.#starts = [0, ...Array.from(text.matchAll(/\r\n|\r|\n/g), (match) => match.index + match[0].length)];
    this.#firstLine = firstLine;
  }

  lineAt(offset: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return this.#firstLine + low;
  }
}
