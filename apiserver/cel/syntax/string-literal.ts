import { CelSyntaxError } from './cel-issue.ts';

interface Form {
  readonly isRaw: boolean;
  readonly isBytes: boolean;
}

interface StringRead {
  readonly value: string | Uint8Array;
  readonly end: number;
}

const start = /(?:[rR][bB]?|[bB][rR]?)?(?:"""|'''|"|')/y;

const simpleEscapes: ReadonlyMap<string, string> = new Map([
  ['a', '\u0007'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
  ['\\', '\\'],
  ['?', '?'],
  ['"', '"'],
  ["'", "'"],
  ['`', '`'],
]);

/** True when a literal of text or bytes begins at this position. */
export function stringStart(source: string, at: number): boolean {
  start.lastIndex = at;
  return start.test(source);
}

/** Reads the literal that begins at this position. @throws CelSyntaxError */
export function readString(source: string, at: number): StringRead {
  start.lastIndex = at;
  const head = start.exec(source)?.[0] ?? '';
  const quote = head.replace(/^[a-zA-Z]+/, '');
  const form = { isRaw: /r/i.test(head), isBytes: /b/i.test(head) };
  const from = at + head.length;
  const to = closing(source, from, { quote, isRaw: form.isRaw });
  if (to === undefined) throw new CelSyntaxError(at, `Syntax error: token recognition error at: '${source.slice(at)}'`);
  return { value: decode(source.slice(from, to), form, from), end: to + quote.length };
}

function closing(
  source: string,
  from: number,
  { quote, isRaw }: { quote: string; isRaw: boolean },
): number | undefined {
  for (let at = from; at < source.length; at += 1) {
    if (source.startsWith(quote, at)) return at;
    if (quote.length === 1 && (source[at] === '\n' || source[at] === '\r')) return undefined;
    if (!isRaw && source[at] === '\\') at += 1;
  }
  return undefined;
}

function decode(text: string, form: Form, at: number): string | Uint8Array {
  const normal = text.replaceAll('\r\n', '\n').replaceAll('\r', '\n');
  const pieces: (string | number)[] = [];
  for (let index = 0; index < normal.length;) {
    if (form.isRaw || normal[index] !== '\\') {
      const next = form.isRaw ? normal.length : (normal.indexOf('\\', index) + normal.length + 1) % (normal.length + 1);
      pieces.push(normal.slice(index, next));
      index = next;
      continue;
    }
    const escape = readEscape(normal, index + 1, form);
    if (escape === undefined) throw new CelSyntaxError(at + index, 'unable to unescape string');
    pieces.push(escape.piece);
    index = escape.end;
  }
  return form.isBytes ? bytesOf(pieces) : pieces.map((piece) => (typeof piece === 'string' ? piece : '')).join('');
}

/** Reads an escape sequence. The returned piece is a number if the sequence stands for a byte, and a text otherwise. */
function readEscape(
  text: string,
  at: number,
  { isBytes }: Form,
): { readonly piece: string | number; readonly end: number } | undefined {
  const letter = text[at] ?? '';
  const simple = simpleEscapes.get(letter);
  if (simple !== undefined) return { piece: simple, end: at + 1 };
  const hexLength = { x: 2, X: 2, u: 4, U: 8 }[letter];
  const digits = hexLength === undefined ? text.slice(at, at + 3) : text.slice(at + 1, at + 1 + hexLength);
  const isNumber = hexLength === undefined ? /^[0-3][0-7]{2}$/.test(digits) : /^[0-9a-fA-F]+$/.test(digits);
  if (!isNumber || (hexLength !== undefined && digits.length !== hexLength)) return undefined;
  const code = hexLength === undefined ? Number.parseInt(digits, 8) : Number.parseInt(digits, 16);
  const end = at + digits.length + (hexLength === undefined ? 0 : 1);
  if (isBytes) return hexLength === 4 || hexLength === 8 ? undefined : { piece: code, end };
  const isScalar = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return isScalar ? { piece: String.fromCodePoint(code), end } : undefined;
}

function bytesOf(pieces: readonly (string | number)[]): Uint8Array {
  return Buffer.concat(
    pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece, 'utf8') : Buffer.from([piece]))),
  );
}
