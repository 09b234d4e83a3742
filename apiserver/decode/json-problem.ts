import { formatPath } from '../schema/judge/field-path.ts';
import type { PathSegment } from '../schema/judge/field-path.ts';
import { isIllFormed } from './json-value.ts';

// Each pattern matches only at the reader's position (flag y), so that a long text is never searched.
const whiteSpace = /[ \t\n\r]*/y;
const plainCharacters = /[ !#-[\]-\uffff]*/y;
const escape = /\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const literal = /true|false|null/y;

/** Thrown at the first mistake, to end the reading. Its message describes the mistake. */
class Problem extends Error {}

/**
 * Describes the mistake in a JSON text. It names the position of the first violation of the grammar, or the path of the
 * first wrong field: a duplicate field, one named `__proto__`, or one with a value that cannot be stored. The caller
 * must have checked the depth.
 */
export function describeJsonProblem(text: string): string {
  try {
    new ProblemReader(text).read();
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
  return 'the body is not valid JSON';
}

class ProblemReader {
  readonly #text: string;
  readonly #path: PathSegment[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): void {
    this.#readValue();
    if (this.#at < this.#text.length) throw this.#unexpected('the end');
  }

  #readValue(): void {
    this.#take(whiteSpace);
    const next = this.#text[this.#at];
    if (next === '{') this.#readObject();
    else if (next === '[') this.#readList();
    else if (next === '"') this.#checkText(this.#readString());
    else if (this.#take(literal) === undefined) this.#readNumber();
    this.#take(whiteSpace);
  }

  #readObject(): void {
    const names = new Set<string>();
    this.#readMembers('}', () => {
      const name = this.#readName();
      this.#path.push(name);
      this.#checkName(name, names);
      if (!this.#skip(':')) throw this.#unexpected('":"');
      this.#readValue();
      this.#path.pop();
    });
  }

  #readList(): void {
    let index = 0;
    this.#readMembers(']', () => {
      this.#path.push(index);
      this.#readValue();
      this.#path.pop();
      index += 1;
    });
  }

  #readMembers(end: '}' | ']', readMember: () => void): void {
    this.#at += 1;
    this.#take(whiteSpace);
    if (this.#skip(end)) return;
    do readMember();
    while (this.#skip(','));
    if (!this.#skip(end)) throw this.#unexpected(`"," or "${end}"`);
  }

  #readName(): string {
    this.#take(whiteSpace);
    if (this.#text[this.#at] !== '"') throw this.#unexpected('a name in double quotes');
    const name = this.#readString();
    this.#take(whiteSpace);
    return name;
  }

  #checkName(name: string, earlier: Set<string>): void {
    this.#checkText(name);
    if (name === '__proto__') throw new Problem(`the field "${formatPath(this.#path)}" has a name that is not allowed`);
    if (earlier.has(name)) throw new Problem(`duplicate field "${formatPath(this.#path)}"`);
    earlier.add(name);
  }

  #checkText(text: string): void {
    if (isIllFormed(text))
      throw new Problem(`${this.#place()} has half of a surrogate pair, which UTF-8 cannot encode`);
  }

  #readString(): string {
    const start = this.#at;
    this.#at += 1;
    do this.#take(plainCharacters);
    while (this.#take(escape) !== undefined);
    if (this.#text[this.#at] !== '"') throw this.#unexpected('the rest of a string');
    this.#at += 1;
    return String(JSON.parse(this.#text.slice(start, this.#at)));
  }

  #readNumber(): void {
    const found = this.#take(number);
    if (found === undefined) throw this.#unexpected('a value');
    if (!Number.isFinite(Number(found))) throw new Problem(`${this.#place()} has a number that is too large`);
  }

  /** Returns the match of a pattern at the current position, and moves past the match; undefined when there is none. */
  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  #skip(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #place(): string {
    return this.#path.length === 0 ? 'the body' : `the field "${formatPath(this.#path)}"`;
  }

  #unexpected(expected: string): Problem {
    const before = this.#text.slice(0, this.#at);
    const line = before.split('\n').length;
    const column = this.#at - before.lastIndexOf('\n');
    const found = this.#at < this.#text.length ? JSON.stringify(this.#text[this.#at]) : 'the end';
    return new Problem(
      `the body is not valid JSON: expected ${expected} at line ${line}, column ${column}, found ${found}`,
    );
  }
}
