import { createHash } from 'node:crypto';

/**
 * Each line contains this many hexadecimal digits of a SHA-256. They are enough to detect damage, but not forgery.
 */
const checkLength = 16;

const pattern = new RegExp(`^,"check":"([0-9a-f]{${checkLength}})"}$`);
const suffixLength = ',"check":""}'.length + checkLength;

/**
 * Computes `check`, the last field of each line. It is a digest of two texts: the line without this field, and the
 * `check` of the previous line. So a changed, repeated or moved line is detected at that line, and a missing line at
 * the next one.
 */
export class LineCheck {
  #last = '';

  /** Returns the line of a record: its JSON with the field `check`, and a line feed. The record must not be empty. */
  seal(record: object): string {
    const body = JSON.stringify(record).slice(0, -1);
    this.#last = this.#next(body);
    return `${body},"check":"${this.#last}"}\n`;
  }

  /**
   * Returns true when the `check` of a line is right: the line is undamaged, and comes directly after the line of the
   * previous call. The line is given without its line feed.
   */
  accepts(line: Buffer): boolean {
    const end = Math.max(line.byteLength - suffixLength, 0);
    const found = pattern.exec(line.toString('latin1', end))?.[1];
    if (found === undefined) return false;
    this.#last = this.#next(line.subarray(0, end));
    return found === this.#last;
  }

  #next(body: string | Uint8Array): string {
    return createHash('sha256').update(this.#last).update(body).digest('hex').slice(0, checkLength);
  }
}
