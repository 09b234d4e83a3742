/** Returns the JSON of a frozen object that was read from a store; undefined for any other object. */
export type StoredBytes = (object: object) => Uint8Array | undefined;

type Fields = Readonly<Record<string, unknown>>;

const comma = Buffer.from(',');
const opening = Buffer.from('[');
const closing = Buffer.from(']');

/**
 * Encodes a value as JSON. If the value is a stored object or a list of stored objects, or has a field with such a
 * value, the result is a buffer with the bytes of these objects as they were read from the store. For any other value,
 * the result is a text, which Node sends in one piece with the headers.
 * @throws TypeError for values that JSON cannot represent.
 */
export function encodeJson(value: unknown, storedBytes: StoredBytes): string | Buffer {
  if (isStored(value, storedBytes)) return Buffer.concat(storedPieces(value, storedBytes));
  if (isPlain(value) && Object.values(value).some((field) => isStored(field, storedBytes)))
    return Buffer.concat(piecesOfFields(value, storedBytes));
  const text = stringify(value);
  if (text === undefined) throw new TypeError('the value of the response cannot be written as JSON');
  return text;
}

/** True for a stored object, and for a list whose first item is a stored object. */
function isStored(value: unknown, storedBytes: StoredBytes): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Array.isArray(value) ? isStored(value[0], storedBytes) : storedBytes(value) !== undefined;
}

/** True for a plain object without a `toJSON`, so that JSON.stringify writes the object's own fields. */
function isPlain(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function storedPieces(value: unknown, storedBytes: StoredBytes): readonly Uint8Array[] {
  if (!Array.isArray(value)) return [pieceOf(value, storedBytes)];
  const pieces: Uint8Array[] = [opening];
  for (const item of value) {
    if (pieces.length > 1) pieces.push(comma);
    pieces.push(pieceOf(item, storedBytes));
  }
  pieces.push(closing);
  return pieces;
}

function pieceOf(value: unknown, storedBytes: StoredBytes): Uint8Array {
  const stored = typeof value === 'object' && value !== null ? storedBytes(value) : undefined;
  return stored ?? Buffer.from(stringify(value) ?? 'null');
}

/**
 * Returns the pieces of an object's JSON. All fields between two stored objects become one piece, because few large
 * pieces are joined faster than many small ones.
 */
function piecesOfFields(fields: Fields, storedBytes: StoredBytes): readonly Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let text = '{';
  let separator = '';
  for (const [name, value] of Object.entries(fields)) {
    const stored = isStored(value, storedBytes);
    const json = stored ? '' : stringify(value);
    if (json === undefined) continue;
    text += `${separator}${JSON.stringify(name)}:${json}`;
    separator = ',';
    if (!stored) continue;
    pieces.push(Buffer.from(text), ...storedPieces(value, storedBytes));
    text = '';
  }
  return [...pieces, Buffer.from(`${text}}`)];
}

/** Returns the JSON of a value; undefined for a value that JSON leaves out. */
function stringify(value: unknown): string | undefined {
  return JSON.stringify(value);
}
