// Writes and reads DER (ITU-T X.690), as far as certificates need it: tags of one byte, lengths that are definite.

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

/** A value with its tag and length. `tag` is the whole first byte. */
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

/** A value with a tag of its context in place of its own, such as the members of GeneralName. */
export function encodeImplicit(number: number, content: Buffer): Buffer {
  return encode(0x80 | number, content);
}

/** A whole value within a tag of its context. */
export function encodeExplicit(number: number, value: Buffer): Buffer {
  return encode(0xa0 | number, value);
}

export function encodeTrue(): Buffer {
  return encode(tags.boolean, Buffer.from([0xff]));
}

/** A number that is not negative, from its bytes with the highest first. */
export function encodeInteger(bytes: Buffer): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0);
  const shortest = start < 0 ? Buffer.from([0]) : bytes.subarray(start);
  // The highest bit is the sign.
  const sign = shortest.readUInt8(0) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0);
  return encode(tags.integer, sign, shortest);
}

/** `unusedBits` of the last byte do not count. */
export function encodeBitString(bytes: Buffer, unusedBits = 0): Buffer {
  return encode(tags.bitString, Buffer.from([unusedBits]), bytes);
}

export function encodeOctetString(bytes: Buffer): Buffer {
  return encode(tags.octetString, bytes);
}

export function encodeUtf8String(text: string): Buffer {
  return encode(tags.utf8String, Buffer.from(text));
}

/** An object identifier in dots, such as `2.5.4.3`. */
export function encodeObjectId(id: string): Buffer {
  const [first = 0, second = 0, ...others] = id.split('.').map(Number);
  return encode(tags.objectId, Buffer.from([first * 40 + second, ...others.flatMap(inBase128)]));
}

/** A time in whole seconds: with two digits of the year until 2049, as RFC 5280 4.1.2.5 demands, with four from then on. */
export function encodeTime(ms: number): Buffer {
  const digits = `${new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')}Z`;
  return digits < '2050'
    ? encode(tags.utcTime, Buffer.from(digits.slice(2)))
    : encode(tags.generalizedTime, Buffer.from(digits));
}

/** Returns the members of a sequence or set, each with its tag and length. It must be valid, such as that of a parsed certificate. */
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

/** Seven bits in a byte, the highest first; all but the last byte have the highest bit set. */
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
