import { isUtf8 } from 'node:buffer';
import { ApiError } from '@homeostat/controller-runtime/api';
import { GrowingBuffer } from '../../decode/growing-buffer.ts';
import { isBlank } from '../../decode/is-blank.ts';
import { maxBodyBytes } from '../../decode/read-body.ts';

const newline = 10;

export interface BodyLine {
  /** The number of the line, from 1. */
  readonly number: number;
  /** The line in UTF-8; it is not blank. */
  readonly bytes: Buffer;
}

/**
 * Yields the lines of a body that are not blank, while the body arrives. It keeps one line at a time in memory. Before
 * it allocates a buffer for the line, it calls `hold` with the size of the buffer.
 * @throws ApiError 413 for a line over 3 MiB, 400 for one that is not UTF-8; both name the line.
 */
export async function* readLines(
  body: AsyncIterable<Uint8Array>,
  hold: (bytes: number) => void,
): AsyncGenerator<BodyLine> {
  const line = new GrowingBuffer(maxBodyBytes, hold);
  let number = 1;
  function add(part: Uint8Array): void {
    if (line.length + part.length > maxBodyBytes) throw tooLong(number);
    line.add(part);
  }
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const part = chunk.subarray(start, end);
      if (line.length > 0) add(part);
      yield* lineOf(line.length > 0 ? line.take() : part, number);
      number += 1;
      start = end + 1;
    }
    add(chunk.subarray(start));
  }
  yield* lineOf(line.take(), number);
}

function* lineOf(line: Uint8Array, number: number): Generator<BodyLine> {
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.byteLength);
  if (!isUtf8(bytes)) throw new ApiError('BadRequest', `line ${number} of the body is not valid UTF-8`);
  if (!isBlank(bytes)) yield { number, bytes };
}
function tooLong(number: number): ApiError {
  return new ApiError(
    'RequestEntityTooLarge',
    `Request entity too large: line ${number} is longer than ${maxBodyBytes} bytes`,
  );
}
