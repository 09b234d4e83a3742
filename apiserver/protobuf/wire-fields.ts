import { malformed } from './malformed.ts';

/** A field of an encoded message: a number, or bytes. */
export type WireField =
  | { readonly number: number; readonly kind: 'varint'; readonly value: bigint }
  | { readonly number: number; readonly kind: 'bytes'; readonly value: Buffer }
  | { readonly number: number; readonly kind: 'fixed'; readonly value: Buffer };

/** The length of the longest varint: 64 bits, with seven bits in each byte. */
const maxVarintBytes = 10;

/** Yields the fields of a message, in order. @throws ApiError BadRequest when the bytes do not encode a message */
export function* readFields(bytes: Buffer): Generator<WireField, void, undefined> {
  const reader = new Reader(bytes);
  while (!reader.isAtEnd()) {
    const tag = Number(reader.varint());
    const number = Math.floor(tag / 8);
    if (number < 1 || number > 0x1fff_ffff) throw malformed(`the field number ${number} is not allowed`);
    yield readField(reader, number, tag % 8);
  }
}

function readField(reader: Reader, number: number, wireType: number): WireField {
  switch (wireType) {
    case 0:
      return { number, kind: 'varint', value: reader.varint() };
    case 2:
      return { number, kind: 'bytes', value: reader.take(Number(reader.varint())) };
    case 1:
    case 5:
      return { number, kind: 'fixed', value: reader.take(wireType === 1 ? 8 : 4) };
    default:
      throw malformed(`field ${number} has the unknown wire type ${wireType}`);
  }
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  varint(): bigint {
    let value = 0n;
    for (let read = 0; read < maxVarintBytes; read += 1) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw malformed('a number is cut off');
      this.#at += 1;
      value |= BigInt(byte & 0x7f) << BigInt(7 * read);
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw malformed('a number has more than 64 bits');
  }

  take(length: number): Buffer {
    if (length > this.#bytes.length - this.#at) throw malformed('a field is cut off');
    const taken = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return taken;
  }
}
