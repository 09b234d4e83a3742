import { inBounds } from '../base/in-bounds.ts';
/** The characters that repeat the atom before them if they are not escaped. */
const repeats: ReadonlySet<string> = new Set(['*', '+', '?']);

/** The number of characters in the text of a class, such as `[a-z0-9]`, that count as one state. */
const classBytesPerState = 100;

/**
 * Estimates the number of states that RE2 needs for a pattern, without compiling the pattern: `x{1000}` has a thousand
 * states, and `(x{10}){10}` a hundred. Reads the pattern once. RE2 adds up to four states for the beginning and the end
 * of each pattern, which are not counted. The estimate is at least half of the real number of all other states.
 */
export function estimateStates(pattern: string): number {
  const reader = new PatternReader(pattern);
  return reader.read();
}

/** A group in parentheses that is not closed yet. */
interface Group {
  /** The number of RE2 states for all atoms of the group that were read so far, except the last of these atoms. */
  states: number;
  /** The number of states of the last atom, which a repetition multiplies. */
  last: number;
}

class PatternReader {
  readonly #pattern: string;
  readonly #open: Group[] = [];
  #group: Group = { states: 0, last: 0 };
  #at = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  read(): number {
    while (this.#at < this.#pattern.length) this.#readPart();
    while (this.#open.length > 0) this.#close();
    return this.#group.states + this.#group.last;
  }

  #readPart(): void {
    const char = inBounds(this.#pattern[this.#at]);
    this.#at += 1;
    if (char === '(') this.#begin();
    else if (char === ')') this.#close();
    else if (char === '{') this.#repeatCounted();
    else if (char === '[') this.#readClass();
    else if (char === '\\') this.#readEscape();
    else if (repeats.has(char)) this.#group.last += 1;
    else this.#add(1);
  }

  #add(states: number): void {
    this.#group.states += this.#group.last;
    this.#group.last = states;
  }

  #begin(): void {
    this.#add(0);
    this.#open.push(this.#group);
    this.#group = { states: 0, last: 0 };
  }

  /**
   * Closes a group. A closing parenthesis without an opening one needs no error here, because RE2 refuses the pattern.
   */
  #close(): void {
    const { states, last } = this.#group;
    this.#group = this.#open.pop() ?? { states: 0, last: 0 };
    this.#group.last += states + last + 2;
  }

  /** Reads a repetition such as `{3}`, `{3,}` or `{3,7}`. Everything else in braces is text. */
  #repeatCounted(): void {
    const counts = /^(\d{1,4})(?:(,)(\d{0,4}))?\}/.exec(this.#pattern.slice(this.#at, this.#at + 11));
    if (counts === null) return this.#add(1);
    this.#at += counts[0].length;
    const [, least = '0', comma, most = ''] = counts;
    const times = Math.max(Number(least), Number(most), 1);
    this.#group.last = this.#group.last * times + (comma === undefined ? 0 : times);
  }

  #readClass(): void {
    const start = this.#at;
    // A ] at the start of the class, or just after ^, is a member of the class.
    if (this.#pattern[this.#at] === '^') this.#at += 1;
    if (this.#pattern[this.#at] === ']') this.#at += 1;
    while (this.#at < this.#pattern.length && this.#pattern[this.#at] !== ']')
      this.#at += this.#pattern[this.#at] === '\\' ? 2 : 1;
    this.#at += 1;
    this.#add(1 + (this.#at - start) / classBytesPerState);
  }

  #readEscape(): void {
    const char = this.#pattern[this.#at] ?? '';
    this.#at += 1;
    if (char === 'Q') return this.#readQuoted();
    const isNamed = 'pPx'.includes(char) && this.#pattern[this.#at] === '{';
    if (isNamed) this.#at = endOf(this.#pattern, '}', this.#at) + 1;
    this.#add(1);
  }

  /** Reads `\Q…\E`. Everything inside it is text. */
  #readQuoted(): void {
    const end = endOf(this.#pattern, '\\E', this.#at);
    this.#add(end - this.#at);
    this.#at = end + 2;
  }
}

function endOf(text: string, mark: string, from: number): number {
  const end = text.indexOf(mark, from);
  return end < 0 ? text.length : end;
}
