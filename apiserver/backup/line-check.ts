import { createHash } from 'node:crypto';

/** Hexadecimal digits of the SHA-256 that a line keeps: enough against damage, not against forgery. */
const checkLength = 16;

const pattern = new RegExp(`^,"check":"([0-9a-f]{${checkLength}})"}$`);
const suffixLength = ',"check":""}'.length + checkLength;

/**
 * The last field of each line, `check`, is a digest of the rest of the line and of the check of the line before. So a
 * changed, dropped, doubled or moved line is found at that line.
 */
export class LineCheck {
  #last = '';

  /** Returns the line of a record, with its check and a line feed. The record must have at least one field. */
  seal(record: object): string {
    const body = JSON.stringify(record).slice(0, -1);
    this.#last = this.#next(body);
    return `${body},"check":"${this.#last}"}\n`;
  }

  /** True when a line, without its line feed, is unchanged and follows the one before. */
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
