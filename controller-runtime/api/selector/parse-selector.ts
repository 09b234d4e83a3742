import { ApiError } from '../errors/errors.ts';
import { quoteValue } from '../errors/field-cause.ts';
import { checkLabelValue, checkQualifiedName } from '../object/names.ts';
import { wholeNumber } from './selector.ts';
import type { Requirement, Selector } from './selector.ts';

/**
 * The maximum length, in characters, of all texts of one selector together. The number is also the server's limit, in
 * bytes, for the request line and the headers of a request.
 */
const maxSelectorLength = 16 * 1024;
const maxRequirements = 100;
const maxValues = 1000;

/**
 * The characters that a backslash escapes in the values of field selectors: those with a meaning in the grammar, and
 * white space, which the parser would otherwise drop at the ends of a value.
 */
const escapable = '\\,=() \t\r\n';
const whiteSpace = ' \t\r\n';
const special = '=!(),<>';

/** The differences between label selectors and field selectors. */
interface Dialect {
  readonly parameter: 'labelSelector' | 'fieldSelector';
  readonly isField: boolean;
}

/**
 * Parses the label selector of a request, which may be in several parameters. The grammar is the grammar of Kubernetes'
 * label selectors, with the additional form `key=(a,b)` of the specification. The values in the result are distinct and
 * sorted. Throws ApiError BadRequest for a malformed selector; the message has the position of the wrong character,
 * counted from 1. Throws it also for a selector over the limits of 16,384 characters, 100 requirements and 1,000
 * values.
 */
export function parseLabelSelector(text: string | readonly string[]): Selector {
  return parseAll(text, { parameter: 'labelSelector', isField: false });
}

/**
 * Parses the field selector of a request. The grammar is the grammar of label selectors without `<` and `>`. In a
 * value, a backslash makes the next `, = \ ( )` or white space a part of the value. Empty requirements between commas
 * are skipped, as in the field selectors of Kubernetes. The caller checks whether the fields are indexed. Throws the
 * errors of {@link parseLabelSelector}.
 */
export function parseFieldSelector(text: string | readonly string[]): Selector {
  return parseAll(text, { parameter: 'fieldSelector', isField: true });
}

function parseAll(text: string | readonly string[], dialect: Dialect): Selector {
  const texts = typeof text === 'string' ? [text] : text;
  const length = texts.reduce((sum, each) => sum + each.length, 0);
  checkLimit(length, { max: maxSelectorLength, what: 'characters', dialect });
  const selector = texts.flatMap((each) => new SelectorParser(each, dialect).parse());
  checkLimit(selector.length, { max: maxRequirements, what: 'requirements', dialect });
  const valueCount = selector.reduce((sum, { values }) => sum + values.length, 0);
  checkLimit(valueCount, { max: maxValues, what: 'values', dialect });
  return selector;
}

function checkLimit(count: number, limit: { max: number; what: string; dialect: Dialect }): void {
  const { max, what, dialect } = limit;
  if (count <= max) return;
  throw new ApiError('BadRequest', `${dialect.parameter}: at most ${max} ${what} are allowed, got ${count}`);
}

/**
 * Parses one text in one pass. It never goes back to an earlier character, except to the start of the word after a key,
 * so it takes linear time.
 */
class SelectorParser {
  readonly #text: string;
  readonly #dialect: Dialect;
  #at = 0;

  constructor(text: string, dialect: Dialect) {
    this.#text = text;
    this.#dialect = dialect;
  }

  parse(): Requirement[] {
    const requirements: Requirement[] = [];
    this.#skipSpace();
    if (this.#ended) return requirements;
    do {
      this.#skipSpace();
      const isEmpty = this.#ended || this.#peek(',');
      if (!isEmpty || !this.#dialect.isField) requirements.push(this.#requirement());
      this.#skipSpace();
    } while (this.#take(','));
    if (!this.#ended) this.#fail("an operator, ',' or the end");
    return requirements;
  }

  #requirement(): Requirement {
    if (this.#take('!')) {
      this.#skipSpace();
      return { key: this.#key(), operator: 'absent', values: [] };
    }
    const key = this.#key();
    this.#skipSpace();
    return { key, ...this.#condition() };
  }

  #condition(): Omit<Requirement, 'key'> {
    if (this.#take('==') || this.#take('=')) return { operator: 'in', values: this.#valueOrSet() };
    if (this.#take('!=')) return { operator: 'notin', values: this.#valueOrSet() };
    if (this.#takeWord('in')) return { operator: 'in', values: this.#set() };
    if (this.#takeWord('notin')) return { operator: 'notin', values: this.#set() };
    if (this.#dialect.isField && (this.#peek('>') || this.#peek('<'))) this.#fail('an operator of field selectors');
    if (this.#take('>')) return { operator: 'gt', values: this.#limit() };
    if (this.#take('<')) return { operator: 'lt', values: this.#limit() };
    return { operator: 'exists', values: [] };
  }

  #limit(): readonly string[] {
    this.#skipSpace();
    const start = this.#at;
    const value = this.#token();
    if (wholeNumber(value) === undefined) this.#failAt(start, 'a whole number from 0 to 9223372036854775807');
    return [value];
  }

  #key(): string {
    const start = this.#at;
    const key = this.#token();
    if (key === '') this.#fail(this.#dialect.isField ? 'a field' : 'a label key');
    if (!this.#dialect.isField) this.#refuse(start, key, checkQualifiedName(key));
    return key;
  }

  #valueOrSet(): readonly string[] {
    this.#skipSpace();
    return this.#peek('(') ? this.#set() : [this.#value(',=')];
  }

  #set(): readonly string[] {
    this.#skipSpace();
    if (!this.#take('(')) this.#fail("'('");
    const values = new Set<string>();
    do {
      this.#skipSpace();
      values.add(this.#value(',=()'));
      this.#skipSpace();
    } while (this.#take(','));
    if (!this.#take(')')) this.#fail("',' or ')'");
    return [...values].sort();
  }

  #value(stops: string): string {
    if (this.#dialect.isField) return this.#fieldValue(stops);
    const start = this.#at;
    const value = this.#token();
    this.#refuse(start, value, checkLabelValue(value));
    return value;
  }

  /**
   * Reads a value up to one of the characters in `stops`, and resolves escapes. White space at the end belongs to the
   * value only when it is escaped.
   */
  #fieldValue(stops: string): string {
    let value = '';
    let kept = 0;
    while (!this.#ended && !stops.includes(this.#current)) {
      const isEscape = this.#take('\\');
      if (isEscape && (this.#ended || !escapable.includes(this.#current)))
        this.#fail("one of , = \\ ( ) or white space after '\\'");
      value += this.#current;
      if (isEscape || !whiteSpace.includes(this.#current)) kept = value.length;
      this.#at += 1;
    }
    return value.slice(0, kept);
  }

  /** Reads the characters up to white space or a special character. */
  #token(): string {
    const start = this.#at;
    while (!this.#ended && !whiteSpace.includes(this.#current) && !special.includes(this.#current)) this.#at += 1;
    return this.#text.slice(start, this.#at);
  }

  get #ended(): boolean {
    return this.#at >= this.#text.length;
  }

  get #current(): string {
    return this.#text.charAt(this.#at);
  }

  #peek(symbol: string): boolean {
    return this.#text.startsWith(symbol, this.#at);
  }

  #take(symbol: string): boolean {
    const isHere = this.#peek(symbol);
    if (isHere) this.#at += symbol.length;
    return isHere;
  }

  #takeWord(word: string): boolean {
    const start = this.#at;
    if (this.#token() === word) return true;
    this.#at = start;
    return false;
  }

  #skipSpace(): void {
    while (!this.#ended && whiteSpace.includes(this.#current)) this.#at += 1;
  }

  #refuse(start: number, value: string, messages: readonly string[]): void {
    if (messages.length > 0) this.#failAt(start, `another value than ${quoteValue(value)}: ${messages.join('; ')}`);
  }

  #fail(expected: string): never {
    this.#failAt(this.#at, expected);
  }

  #failAt(at: number, expected: string): never {
    const found =
      at < this.#text.length ? quoteValue(String.fromCodePoint(this.#text.codePointAt(at) ?? 0)) : 'the end';
    const { parameter } = this.#dialect;
    const message = `${parameter}: found ${found} at character ${at + 1}, expected ${expected} in ${quoteValue(this.#text)}`;
    throw new ApiError('BadRequest', message);
  }
}
