const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/**
 * Returns the bytes of the value at a path of fields, without a copy; undefined when there is no such value. The JSON
 * must come from JSON.stringify: it has no white space, and a name is always written in the same way. Skipping the rest
 * of the object takes a fifth of the time of JSON.parse.
 */
export function jsonValueAt(json: Buffer, path: readonly string[]): Buffer | undefined {
  let start = 0;
  for (const name of path) {
    const found = startOfField(json, start, Buffer.from(JSON.stringify(name)));
    if (found === undefined) return undefined;
    start = found;
  }
  return json.subarray(start, endOfValue(json, start));
}

/** Returns true when the JSON is an object or a list. */
export function isStructure(json: Buffer): boolean {
  return json[0] === openBrace || json[0] === openBracket;
}

/**
 * Returns the number of fields of the object at a path; 0 when there is no object. The values of the fields are not
 * parsed.
 */
export function countFieldsAt(json: Buffer, path: readonly string[]): number {
  const object = jsonValueAt(json, path);
  if (object?.[0] !== openBrace) return 0;
  let count = 0;
  for (let at = 1; object[at] === quote; at = endOfValue(object, endOfText(object, at) + 1) + 1) count += 1;
  return count;
}

/** Returns the position of the value of a field; the object with that field begins at `start`. */
function startOfField(json: Buffer, start: number, name: Buffer): number | undefined {
  if (json[start] !== openBrace) return undefined;
  let at = start + 1;
  while (json[at] === quote) {
    const colon = endOfText(json, at);
    const isWanted = colon - at === name.length && name.compare(json, at, colon) === 0;
    if (isWanted) return colon + 1;
    at = endOfValue(json, colon + 1) + 1;
  }
  return undefined;
}

function endOfValue(json: Buffer, start: number): number {
  const first = json[start];
  if (first === quote) return endOfText(json, start);
  return first === openBrace || first === openBracket ? endOfStructure(json, start) : endOfPlain(json, start);
}

function endOfText(json: Buffer, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at + 1;
}

/** Returns the end of the object or list that begins at `start`. The JSON must be valid, so that its brackets match. */
function endOfStructure(json: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length;) {
    const byte = json[at];
    if (byte === quote) {
      at = endOfText(json, at);
      continue;
    }
    at += 1;
    if (byte === openBrace || byte === openBracket) depth += 1;
    else if (byte === closeBrace || byte === closeBracket) depth -= 1;
    if (depth === 0) return at;
  }
  return json.length;
}

/** Returns the end of the number, `true`, `false` or `null` that begins at `start`. */
function endOfPlain(json: Buffer, start: number): number {
  let at = start;
  while (at < json.length && json[at] !== comma && json[at] !== closeBrace && json[at] !== closeBracket) at += 1;
  return at;
}
