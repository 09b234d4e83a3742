// This file writes and reads DER (ITU-T X.690) as far as certificates need it: only tags of one byte and definite
// lengths.

const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectId: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** Encodes a value with its tag and length. `tag` is the whole first byte. */
function encode(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), encodeLength(content.length), content]);
}

export function encodeSequence(...members: readonly Buffer[]): Buffer {
  return encode(tags.sequence, ...members);
}

export function encodeSet(...members: readonly Buffer[]): Buffer {
  return encode(tags.set, ...members);
}

/** Encodes a value with a context-specific tag instead of its own tag, for example a member of GeneralName. */
export function encodeImplicit(number: number, content: Buffer): Buffer {
  return encode(0x80 | number, content);
}

/** Encodes a whole value inside a context-specific tag. */
export function encodeExplicit(number: number, value: Buffer): Buffer {
  return encode(0xa0 | number, value);
}

export function encodeTrue(): Buffer {
  return encode(tags.boolean, Buffer.from([0xff]));
}

/** Encodes an integer of at least 0. `bytes` has the highest byte first. */
export function encodeInteger(bytes: Buffer): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0);
  const shortest = start < 0 ? Buffer.from([0]) : bytes.subarray(start);
  // The highest bit is the sign, so a number with this bit gets a zero byte before it.
  const sign = shortest.readUInt8(0) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0);
  return encode(tags.integer, sign, shortest);
}

/** Encodes a bit string. `unusedBits` is the number of bits in the last byte that do not belong to the bit string. */
export function encodeBitString(bytes: Buffer, unusedBits = 0): Buffer {
  return encode(tags.bitString, Buffer.from([unusedBits]), bytes);
}

export function encodeOctetString(bytes: Buffer): Buffer {
  return encode(tags.octetString, bytes);
}

export function encodeUtf8String(text: string): Buffer {
  return encode(tags.utf8String, Buffer.from(text));
}

/** Encodes an object identifier such as `2.5.4.3`. */
export function encodeObjectId(id: string): Buffer {
  const [first = 0, second = 0, ...others] = id.split('.').map(Number);
  return encode(tags.objectId, Buffer.from([first * 40 + second, ...others.flatMap(inBase128)]));
}

/**
 * Encodes a time in whole seconds. As RFC 5280 4.1.2.5 requires, the year has two digits until 2049, and four digits
 * afterwards.
 */
export function encodeTime(ms: number): Buffer {
  const digits = `${new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')}Z`;
  return digits < '2050'
    ? encode(tags.utcTime, Buffer.from(digits.slice(2)))
    : encode(tags.generalizedTime, Buffer.from(digits));
}

/**
 * Returns the members of a sequence or set, each with its tag and length. The value must be valid DER, for example from
 * a parsed certificate.
 */
export function derMembers(value: Buffer): readonly Buffer[] {
  const { contentStart, end } = readHeader(value, 0);
  const members: Buffer[] = [];
  for (let at = contentStart; at < end;) {
    const member = readHeader(value, at);
    members.push(value.subarray(at, member.end));
    at = member.end;
  }
  return members;
}

/** Returns the bytes of a value without its tag and length. */
export function derContent(value: Buffer): Buffer {
  const { contentStart, end } = readHeader(value, 0);
  return value.subarray(contentStart, end);
}

function encodeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

/**
 * Returns the bytes of a number in base 128: seven bits in each byte, the highest bits first. All bytes except the last
 * one have the highest bit set.
 */
function inBase128(number: number): readonly number[] {
  const bytes = [number % 128];
  for (let rest = Math.floor(number / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(0x80 | (rest % 128));
  return bytes;
}

function readHeader(bytes: Buffer, at: number): { readonly contentStart: number; readonly end: number } {
  const first = bytes.readUInt8(at + 1);
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  const contentStart = at + 2 + lengthBytes;
  const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes);
  return { contentStart, end: contentStart + length };
}
