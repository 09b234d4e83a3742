import { jsonpath } from 'json-p3';
import type { JSONValue } from 'json-p3';
import { CommandError } from '../command-error.ts';
import type { ServerObject } from '../server-object.ts';

/** Returns the text of a part of a template, for one value of `@`. */
type Part = (current: JSONValue) => string;

/**
 * Compiles a template of `-o jsonpath=`, such as `{.items[*].metadata.name}` or
 * `{range .items[*]}{.metadata.name}{"\n"}{end}`, and returns the function that fills it in. Paths are those of
 * kubectl, or of RFC 9535. @throws CommandError for a template that is wrong
 */
export function jsonPathTemplate(template: string): Part {
  const tokens = tokensOf(template);
  const { part, rest } = sequence(tokens, false);
  if (rest.length > 0) throw wrong(template, '{end} has no {range}');
  return part;
}

/**
 * Compiles one path without braces, as custom columns have it. The compiled function returns all values at the path.
 */
export function jsonPathValues(path: string): (value: JSONValue) => readonly JSONValue[] {
  const compiled = compile(path);
  return (value) => compiled.query(value).values();
}

interface Token {
  readonly kind: 'text' | 'expression';
  readonly text: string;
}

function tokensOf(template: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < template.length) {
    const open = template.indexOf('{', at);
    const end = open < 0 ? template.length : open;
    if (end > at) tokens.push({ kind: 'text', text: template.slice(at, end) });
    if (open < 0) break;
    const close = closingBrace(template, open);
    tokens.push({ kind: 'expression', text: template.slice(open + 1, close).trim() });
    at = close + 1;
  }
  return tokens;
}

/** Finds the brace that closes an expression; braces within quotes do not count. */
function closingBrace(template: string, open: number): number {
  let quote = '';
  for (let at = open + 1; at < template.length; at += 1) {
    const char = template.charAt(at);
    if (quote !== '') {
      if (char === '\\') at += 1;
      else if (char === quote) quote = '';
    } else if (char === '"' || char === "'") quote = char;
    else if (char === '}') return at;
  }
  throw wrong(template, 'unclosed action: a } is missing');
}

function sequence(
  tokens: readonly Token[],
  isRange: boolean,
): { readonly part: Part; readonly rest: readonly Token[] } {
  const parts: Part[] = [];
  let rest = tokens;
  for (;;) {
    const [token, ...after] = rest;
    if (token === undefined) {
      if (isRange) throw wrong('{range', '{end} is missing');
      break;
    }
    if (token.kind === 'expression' && token.text === 'end') {
      if (!isRange) break;
      return { part: joined(parts), rest: after };
    }
    rest = after;
    if (token.kind === 'text') parts.push(() => token.text);
    else if (/^range\s/.test(token.text)) {
      const values = jsonPathValues(token.text.slice('range'.length));
      const inner = sequence(rest, true);
      rest = inner.rest;
      parts.push((current) => values(current).map(inner.part).join(''));
    } else parts.push(expression(token.text));
  }
  return { part: joined(parts), rest };
}

function joined(parts: readonly Part[]): Part {
  return (current) => parts.map((part) => part(current)).join('');
}

/** Compiles a quoted text or a path. The values of a path are written with spaces between them. */
function expression(text: string): Part {
  const [, quoted] = /^(?:"((?:[^"\\]|\\.)*)"|'(?:[^'\\]|\\.)*')$/s.exec(text) ?? [];
  if (quoted !== undefined) {
    const value = String(JSON.parse(`"${quoted.replaceAll('\n', '\\n')}"`));
    return () => value;
  }
  if (/^'.*'$/s.test(text)) return () => text.slice(1, -1);
  const values = jsonPathValues(text);
  return (current) => values(current).map(formatValue).join(' ');
}

/** Returns an object from the server as a `JSONValue`, the type that compiled paths read. */
export function toJsonValue(object: ServerObject): JSONValue {
  if (isJsonValue(object)) return object;
  throw new TypeError('the server sent a value that is not JSON');
}

function isJsonValue(value: unknown): value is JSONValue {
  return value === null || ['string', 'number', 'boolean', 'object'].includes(typeof value);
}

/** Returns a text unchanged, and any other value as JSON. */
export function formatValue(value: JSONValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Compiles a path of kubectl, which needs no `$`, and has `\.` for a dot in a name. */
function compile(path: string): ReturnType<typeof jsonpath.compile> {
  const trimmed = path.trim();
  const rooted = trimmed.startsWith('$')
    ? trimmed
    : `$${/^[.[]/.test(trimmed) ? trimmed : `.${trimmed.replace(/^@\.?/, '')}`}`;
  // Every second piece is a text in quotes, which stays unchanged.
  const standard = rooted
    .split(/("[^"]*"|'[^']*')/)
    .map((piece, index) => (index % 2 === 0 ? piece.replaceAll(oddNames, bracketed) : piece))
    .join('')
    .replace(/^\$\.$/, '$');
  try {
    return jsonpath.compile(standard);
  } catch (error) {
    throw wrong(path, error instanceof Error ? error.message : String(error));
  }
}

/** Names that RFC 9535 allows only in brackets: those with an escape, a hyphen or a slash, such as keys of labels. */
const oddNames = /(\.\.?)((?:[\w/-]|\\.)*(?:\\.|[/-])(?:[\w/-]|\\.)*)/g;

function bracketed(_: string, dots: string, name: string): string {
  return `${dots === '..' ? '..' : ''}[${JSON.stringify(name.replaceAll(/\\(.)/g, '$1'))}]`;
}

function wrong(template: string, problem: string): CommandError {
  return new CommandError(`jsonpath ${JSON.stringify(template.trim())}: ${problem}`, 2);
}
