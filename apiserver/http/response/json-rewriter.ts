/** The options of a rewriter of JSON. */
export interface JsonForm {
  /**
   * True: the output is that of `JSON.stringify(value, undefined, 2)`, and a line feed. False: the output has no white
   * space.
   */
  readonly isIndented: boolean;
  /** The path of a member that is left out; `*` means each item of an array. */
  readonly leftOut?: readonly string[] | undefined;
}

/** The approximate size of a piece of output. */
const pieceBytes = 256 * 1024;

const firstBytes = 4096;

/** An open object or array. */
interface Level {
  readonly isArray: boolean;
  /** The rest of the path to the member that is left out; undefined when this object or array is not on the path. */
  readonly path: readonly string[] | undefined;
  isEmpty: boolean;
  expectsName: boolean;
}

type State =
  | 'between tokens'
  | 'in a string'
  | 'in a number or word'
  /**
   * The rewriter reads the name of a member, which may be the next name on the path to the member that is left out. It
   * has not written the matching bytes of this name yet.
   */
  | 'in a name that may lead to the omitted part'
  | 'in the omitted part';

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const space = 0x20;
const lineFeed = 0x0a;
const openBracket = 0x5b;
const openBrace = 0x7b;

/**
 * Rewrites valid JSON that comes in pieces. It never parses the whole text: the time and memory for a piece depend only
 * on its own bytes. Numbers and strings are copied.
 */
export class JsonRewriter {
  readonly #isIndented: boolean;
  readonly #outer: Level[] = [];
  #level: Level;
  #state: State = 'between tokens';
  /**
   * The path from the next value that the rewriter reads to the member that it leaves out. Undefined if this value does
   * not contain that member.
   */
  #path: readonly string[] | undefined;
  /**
   * The name, in quotes, of the next member on the path to the member that is left out. {@link #matched} is the number
   * of its bytes that were read.
   */
  #name: Buffer = Buffer.alloc(0);
  #matched = 0;
  /** Inside a string, true when the previous byte was a backslash that escapes the next byte. */
  #isEscaped = false;
  /**
   * While the rewriter skips the member that it leaves out: the number of objects and arrays of the member's value that
   * have begun and not ended. {@link #skipsString} is true while the rewriter skips a string in this value.
   */
  #skippedLevels = 0;
  #skipsString = false;
  #out: Buffer = Buffer.alloc(0);
  #length = 0;

  constructor({ isIndented, leftOut }: JsonForm) {
    this.#isIndented = isIndented;
    this.#path = leftOut;
    this.#level = { isArray: false, path: undefined, isEmpty: true, expectsName: false };
  }

  /** Yields the output for a piece: any number of buffers, perhaps none, each with at least one byte. */
  *push(piece: Buffer): Generator<Buffer, void, undefined> {
    for (let at = 0; at < piece.length;) {
      at = this.#read(piece, at);
      if (this.#length >= pieceBytes) yield this.#take();
    }
    if (this.#length > 0) yield this.#take();
  }

  /** Yields the end of the output, after {@link push} has received all input: a line feed if the output is indented. */
  *end(): Generator<Buffer, void, undefined> {
    if (this.#isIndented) yield Buffer.of(lineFeed);
  }

  /** Reads a token, or the part of it that is in this piece, and returns the position after it. */
  #read(piece: Buffer, at: number): number {
    switch (this.#state) {
      case 'between tokens':
        return this.#readToken(piece[at] ?? space, at);
      case 'in a string':
        return this.#readString(piece, at);
      case 'in a number or word':
        return this.#readWord(piece, at);
      case 'in a name that may lead to the omitted part':
        return this.#readName(piece, at);
      case 'in the omitted part':
        return this.#skip(piece, at);
    }
  }

  #readToken(byte: number, at: number): number {
    if (byte === quote && this.#level.expectsName) return this.#beginName(at);
    if (byte === comma) this.#level.expectsName = !this.#level.isArray;
    else if (byte === colon) this.#writeColon();
    else if (isCloser(byte)) this.#close(byte);
    else if (byte > space) return this.#beginValue(byte, at);
    return at + 1;
  }

  #beginName(at: number): number {
    const [next] = this.#level.path ?? [];
    this.#level.expectsName = false;
    this.#path = undefined;
    if (next !== undefined && next !== '*') {
      this.#name = Buffer.from(`"${next}"`);
      this.#matched = 0;
      this.#state = 'in a name that may lead to the omitted part';
      return at;
    }
    this.#separate();
    return this.#beginString(at);
  }

  #beginString(at: number): number {
    this.#writeByte(quote);
    this.#state = 'in a string';
    return at + 1;
  }

  #beginValue(byte: number, at: number): number {
    const { isArray, path } = this.#level;
    if (isArray) {
      this.#separate();
      this.#path = path?.[0] === '*' ? path.slice(1) : undefined;
    }
    if (byte === quote) return this.#beginString(at);
    if (!isOpener(byte)) {
      this.#state = 'in a number or word';
      return at;
    }
    this.#outer.push(this.#level);
    const isObject = byte === openBrace;
    this.#level = { isArray: !isObject, path: this.#path, isEmpty: true, expectsName: isObject };
    this.#writeByte(byte);
    return at + 1;
  }

  #close(byte: number): void {
    const { isEmpty } = this.#level;
    this.#level = this.#outer.pop() ?? this.#level;
    if (!isEmpty) this.#breakLine();
    this.#writeByte(byte);
  }

  #readString(piece: Buffer, at: number): number {
    let end = at;
    for (; end < piece.length; end += 1) {
      const byte = piece[end];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === backslash) this.#isEscaped = true;
      else if (byte === quote) {
        this.#state = 'between tokens';
        end += 1;
        break;
      }
    }
    this.#write(piece, at, end);
    return end;
  }

  #readWord(piece: Buffer, at: number): number {
    let end = at;
    while (end < piece.length && !endsWord(piece[end] ?? space)) end += 1;
    if (end < piece.length) this.#state = 'between tokens';
    this.#write(piece, at, end);
    return end;
  }

  #readName(piece: Buffer, at: number): number {
    const name = this.#name;
    let end = at;
    while (end < piece.length && this.#matched < name.length && piece[end] === name[this.#matched]) {
      end += 1;
      this.#matched += 1;
    }
    const isWhole = this.#matched === name.length;
    if (!isWhole && end === piece.length) return end;
    const rest = this.#level.path?.slice(1) ?? [];
    if (isWhole && rest.length === 0) {
      this.#state = 'in the omitted part';
      return end;
    }
    if (isWhole) this.#path = rest;
    this.#separate();
    this.#write(name, 0, this.#matched);
    this.#state = isWhole ? 'between tokens' : 'in a string';
    return end;
  }

  /** Skips the part that is left out, up to the comma or bracket that follows it. */
  #skip(piece: Buffer, at: number): number {
    for (let end = at; end < piece.length; end += 1) {
      const byte = piece[end] ?? space;
      if (this.#skipsString) this.#skipInString(byte);
      else if (byte === quote) this.#skipsString = true;
      else if (this.#skippedLevels === 0 && (byte === comma || isCloser(byte))) {
        this.#state = 'between tokens';
        return end;
      } else if (isOpener(byte)) this.#skippedLevels += 1;
      else if (isCloser(byte)) this.#skippedLevels -= 1;
    }
    return piece.length;
  }

  #skipInString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) this.#skipsString = false;
  }

  /** Writes the comma and the indentation before a member or item. */
  #separate(): void {
    if (!this.#level.isEmpty) this.#writeByte(comma);
    this.#level.isEmpty = false;
    this.#breakLine();
  }

  #breakLine(): void {
    if (!this.#isIndented) return;
    const spaces = 2 * this.#outer.length;
    this.#reserve(1 + spaces);
    this.#out[this.#length] = lineFeed;
    this.#out.fill(space, this.#length + 1, this.#length + 1 + spaces);
    this.#length += 1 + spaces;
  }

  #writeColon(): void {
    this.#writeByte(colon);
    if (this.#isIndented) this.#writeByte(space);
  }

  #writeByte(byte: number): void {
    this.#reserve(1);
    this.#out[this.#length] = byte;
    this.#length += 1;
  }

  #write(bytes: Buffer, from: number, to: number): void {
    this.#reserve(to - from);
    bytes.copy(this.#out, this.#length, from, to);
    this.#length += to - from;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#out.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#out.length, firstBytes));
    this.#out.copy(larger, 0, 0, this.#length);
    this.#out = larger;
  }

  #take(): Buffer {
    const taken = this.#out.subarray(0, this.#length);
    this.#out = Buffer.alloc(0);
    this.#length = 0;
    return taken;
  }
}

function isOpener(byte: number): boolean {
  return byte === openBracket || byte === openBrace;
}

/**
 * True for the end of an array or object. In ASCII, a closing bracket or brace has the code of the opening one plus 2.
 */
function isCloser(byte: number): boolean {
  return byte === openBracket + 2 || byte === openBrace + 2;
}

function endsWord(byte: number): boolean {
  return byte === comma || byte === colon || byte <= space || isCloser(byte);
}
