/** The time before the progress is shown: shorter work shows no progress. */
const quietMs = 1000;
const pauseMs = 100;
const barWidth = 24;

export interface ProgressParts {
  readonly stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>;
  /** The verb of the line, such as `exporting`. */
  readonly what: string;
  /** The noun after the numbers, such as `objects`. */
  readonly unit: string;
  readonly nowMs: () => number;
}

/**
 * A line that shows the progress of long work at a terminal, and disappears when the work ends. Writes nothing when the
 * output is not a terminal.
 */
export class Progress {
  readonly #parts: ProgressParts;
  readonly #beganMs: number;
  #shownMs = 0;

  constructor(parts: ProgressParts) {
    this.#parts = parts;
    this.#beganMs = parts.nowMs();
  }

  /** Shows the progress, but at most ten times a second. Shows a bar only if there is a total. */
  show(done: number, total?: number): void {
    const { stream, what, unit, nowMs } = this.#parts;
    const now = nowMs();
    if (!stream.isTTY || now - this.#beganMs < quietMs || now - this.#shownMs < pauseMs) return;
    this.#shownMs = now;
    const count = `${done}${total === undefined ? '' : ` of ${total}`} ${unit}`;
    stream.write(`\r\u001B[K${what} ${total === undefined ? '' : `${barOf(done, total)} `}${count}`);
  }

  /** Clears the line. */
  end(): void {
    if (this.#shownMs > 0) this.#parts.stream.write('\r\u001B[K');
  }
}

function barOf(done: number, total: number): string {
  const full = total === 0 ? barWidth : Math.min(barWidth, Math.floor((done / total) * barWidth));
  return `[${'#'.repeat(full)}${' '.repeat(barWidth - full)}]`;
}
