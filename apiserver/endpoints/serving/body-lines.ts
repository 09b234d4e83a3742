import { isUtf8 } from 'node:buffer';
import { ApiError } from '@homeostat/controller-runtime/api';
import { maxBodyBytes } from '../../decode/read-body.ts';

const newline = 10;

export interface BodyLine {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

/**
 * The lines of a body that are not blank, as it arrives; holds one line at a time.
 * @throws ApiError 413 for a line over 3 MiB, 400 for one that is not UTF-8; both name the line.
 */
export async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<BodyLine> {
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  let number = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      rest.push(chunk.subarray(start, end));
      yield* lineOf(rest, (number += 1));
      rest = [];
      restBytes = 0;
      start = end + 1;
    }
    rest.push(chunk.subarray(start));
    restBytes += chunk.length - start;
    if (restBytes > maxBodyBytes) throw tooLong(number + 1);
  }
  yield* lineOf(rest, number + 1);
}

function* lineOf(parts: readonly Uint8Array[], number: number): Generator<BodyLine> {
  const bytes = Buffer.concat(parts);
  if (bytes.length > maxBodyBytes) throw tooLong(number);
  if (!isUtf8(bytes)) throw new ApiError('BadRequest', `line ${number} of the body is not valid UTF-8`);
  const text = bytes.toString('utf8');
  if (text.trim() !== '') yield { number, text };
}

function tooLong(number: number): ApiError {
  return new ApiError(
    'RequestEntityTooLarge',
    `Request entity too large: line ${number} is longer than ${maxBodyBytes}`,
  );
}
