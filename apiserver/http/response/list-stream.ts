import type { Context } from 'koa';
import type { BodyCodec } from '../../decode/body-codec.ts';
import { copiesPerTurn, cutIntoPieces, pieceBytes, PieceStream, wholeBytes } from './piece-stream.ts';
import type { EncodedPieces } from './piece-stream.ts';
import { sendBytes, setYaml } from './responses.ts';

/** A list: a JSON object whose last field is an array with an item for each entry. */
export interface ListText {
  /** All fields of the list except {@link field}. The head has at least one field. */
  readonly head: object;
  readonly field: 'items' | 'rows';
  readonly entries: readonly { readonly bytes: Buffer; readonly size: number }[];
  /** Returns the JSON of an item, from the JSON of its object. By default, the item is the object itself. */
  readonly itemOf?: ((object: Buffer) => Buffer) | undefined;
  /** A function that is called before each further piece. It throws when the rest can no longer be sent. */
  readonly check?: () => void;
}

/**
 * Yields the JSON of a list in pieces. A piece ends when its size, or the size of the objects in it, exceeds {@link
 * pieceBytes}. So each piece blocks the event loop for a few milliseconds at most, however large the list is. Large
 * items are not copied.
 */
export function* listPieces({ head, field, entries, itemOf = asStored, check }: ListText): Generator<Buffer, void> {
  let parts = [openingOf(head, field)];
  let bytes = 0;
  for (const [index, entry] of entries.entries()) {
    // Every piece has bytes: after an empty piece, a stream might not request the next one.
    if (bytes >= pieceBytes) {
      yield Buffer.concat(parts);
      check?.();
      parts = [];
      bytes = 0;
    }
    if (index > 0) parts.push(comma);
    const item = itemOf(entry.bytes);
    bytes += Math.max(item.length, entry.size);
    if (item.length < pieceBytes) {
      parts.push(item);
      continue;
    }
    yield Buffer.concat(parts);
    yield* cutIntoPieces(item);
    check?.();
    parts = [];
    bytes = 0;
  }
  parts.push(tail);
  yield Buffer.concat(parts);
}

/** Yields the YAML of a list, in pieces of the same size as {@link listPieces}. */
export function* yamlPieces(text: ListText, codec: BodyCodec): Generator<Buffer | Promise<Buffer>, void> {
  const { head, field, entries, itemOf = asStored, check } = text;
  const isEmpty = entries.length === 0;
  const start = Buffer.from(JSON.stringify(isEmpty ? { ...head, [field]: [] } : head));
  yield codec.toYaml(start, 'document');
  if (!isEmpty) yield Buffer.from(`${field}:\n`);
  let parts: Buffer[] = [];
  let bytes = 0;
  for (const [index, entry] of entries.entries()) {
    const item = itemOf(entry.bytes);
    parts.push(parts.length === 0 ? opening : comma, item);
    bytes += Math.max(item.length, entry.size);
    if (bytes < pieceBytes && index < entries.length - 1) continue;
    yield codec.toYaml(Buffer.concat([...parts, closing]), 'items');
    check?.();
    parts = [];
    bytes = 0;
  }
}

/**
 * Sends a list whose items are the objects themselves. Up to 1 MiB, it is sent as a whole, which takes half the time.
 */
export function sendStoredList(context: Context, text: Omit<ListText, 'itemOf'>): void {
  const { head, field, entries } = text;
  const start = openingOf(head, field);
  let length = start.length + Math.max(0, entries.length - 1) + tail.length;
  for (const { size } of entries) length += size;
  if (length > wholeBytes) return sendPieces(context, listPieces(text), length);
  const parts = [start];
  for (const { bytes } of entries) {
    if (parts.length > 1) parts.push(comma);
    parts.push(bytes);
  }
  parts.push(tail);
  sendBytes(context, Buffer.concat(parts, length), 'json');
}

/**
 * Sends JSON in pieces. A text that fits into one piece is sent as a whole; otherwise each piece is produced when the
 * client has read the previous ones. `length` is the total length in bytes; it is known when the pieces are copies of
 * stored bytes. Without `length`, the response is chunked.
 */
export function sendPieces(context: Context, pieces: Iterator<Buffer, void>, length?: number): void {
  if (context.response.status === 404) context.status = 200;
  context.set('Cache-Control', 'no-cache, private');
  // context.type is not used, because it would add a charset, which JSON does not have.
  context.set('Content-Type', 'application/json');
  const first = pieces.next().value ?? Buffer.alloc(0);
  const second = pieces.next();
  if (second.done === true) {
    context.body = first;
    return;
  }
  const isCopied = length !== undefined;
  context.body = new PieceStream(together([first, second.value], pieces), isCopied ? copiesPerTurn : 1);
  if (isCopied) context.length = length;
}

function* together<Piece>(made: readonly Piece[], rest: Iterator<Piece, void>): Generator<Piece, void> {
  yield* made;
  yield* { [Symbol.iterator]: () => rest };
}

function openingOf(head: object, field: string): Buffer {
  return Buffer.from(`${JSON.stringify(head).slice(0, -1)},"${field}":[`);
}

function asStored(object: Buffer): Buffer {
  return object;
}

/**
 * Sends YAML in pieces. A piece that the worker thread writes is a promise. The YAML is sent as a whole if it is
 * shorter than {@link pieceBytes} and none of its pieces is a promise.
 */
export function sendYamlPieces(context: Context, pieces: EncodedPieces): void {
  const made: Buffer[] = [];
  for (let bytes = 0; bytes < pieceBytes; bytes += made.at(-1)?.length ?? 0) {
    const { done, value } = pieces.next();
    if (done === true) return setYaml(context, Buffer.concat(made));
    if (value instanceof Promise) {
      // For a HEAD request or a refusal, nothing reads the stream, so nothing else would handle a rejection of this
      // promise.
      value.catch(() => undefined);
      return setYaml(context, new PieceStream(together([...made, value], pieces)));
    }
    made.push(value);
  }
  setYaml(context, new PieceStream(together(made, pieces)));
}

const opening = Buffer.from('[');
const closing = Buffer.from(']');
const comma = Buffer.from(',');
const tail = Buffer.from(']}');
