import { TextDecoder } from 'node:util';
import type { Clock } from '../../api/index.ts';

/**
 * The error for a watch connection that broke or received invalid data; the message says why. The connection cannot be
 * used any longer.
 */
export class WatchStreamError extends Error {
  override readonly name = 'WatchStreamError';
}

/**
 * Yields the lines of a stream without their line feeds, including blank lines, which are heartbeats. Rejects with
 * WatchStreamError on a line longer than `maxLineBytes`, on bytes that are not UTF-8, and when the stream ends in the
 * middle of a line.
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array>, maxLineBytes: number): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let to = chunk.indexOf(lineFeed); to >= 0; to = chunk.indexOf(lineFeed, from)) {
      const piece = chunk.subarray(from, to);
      checkLength(restBytes + piece.byteLength, maxLineBytes);
      yield decode(decoder, restBytes === 0 ? piece : Buffer.concat([...rest, piece]));
      rest = [];
      restBytes = 0;
      from = to + 1;
    }
    if (from < chunk.byteLength) rest.push(chunk.subarray(from));
    restBytes += chunk.byteLength - from;
    checkLength(restBytes, maxLineBytes);
  }
  if (restBytes > 0) throw new WatchStreamError(`the stream ended after ${restBytes} bytes of an incomplete line`);
}

export interface SilenceParts {
  readonly clock: Clock;
  readonly silenceMs: number;
  /**
   * Called when no chunk has arrived for `silenceMs`. The callback has to close the connection, so that reading from
   * the connection rejects or ends.
   */
  readonly onSilence: () => void;
}

/**
 * Yields the chunks of a stream, and calls `onSilence` when it has waited for a chunk for `silenceMs`. The time that
 * the reader takes to process a chunk does not count.
 */
export async function* watchSilence(
  chunks: AsyncIterable<Uint8Array>,
  { clock, silenceMs, onSilence }: SilenceParts,
): AsyncGenerator<Uint8Array> {
  let timer = clock.setTimeout(onSilence, silenceMs);
  try {
    for await (const chunk of chunks) {
      clock.clearTimeout(timer);
      yield chunk;
      timer = clock.setTimeout(onSilence, silenceMs);
    }
  } finally {
    clock.clearTimeout(timer);
  }
}

const lineFeed = 0x0a;

function checkLength(bytes: number, maxBytes: number): void {
  if (bytes > maxBytes) throw new WatchStreamError(`a line is longer than ${maxBytes} bytes`);
}

function decode(decoder: TextDecoder, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new WatchStreamError('a line is not UTF-8', { cause });
  }
}
