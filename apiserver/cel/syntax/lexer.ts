import { CelSyntaxError } from './cel-issue.ts';
import type { CelLiteral } from './cel-node.ts';
import { readString, stringStart } from './string-literal.ts';

export type Token =
  | { readonly kind: 'literal'; readonly value: CelLiteral; readonly at: number; readonly text: string }
  | { readonly kind: 'ident' | 'quoted' | 'symbol' | 'end'; readonly text: string; readonly at: number };

const blank = /(?:[ \t\r\n\f]+|\/\/[^\n]*)+/y;
const name = /[A-Za-z_][A-Za-z0-9_]*/y;
const quotedName = /`([A-Za-z0-9_.\-/ ]+)`/y;
const number = /(?:0x[0-9a-fA-F]+|(?:\d+\.\d+|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+)[uU]?/y;
const symbol = /&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()[\]{}]/y;

const maxInt = 2n ** 63n;
const maxUint = 2n ** 64n - 1n;

/** Splits an expression into tokens; the last one is `end`. @throws CelSyntaxError */
export function tokenize(source: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = endOf(blank, source, 0) ?? 0;
  while (at < source.length) {
    const token = readToken(source, at);
    tokens.push(token);
    at += token.text.length;
    at = endOf(blank, source, at) ?? at;
  }
  tokens.push({ kind: 'end', text: '<EOF>', at });
  return tokens;
}

function readToken(source: string, at: number): Token {
  if (stringStart(source, at)) {
    const { value, end } = readString(source, at);
    return { kind: 'literal', value, at, text: source.slice(at, end) };
  }
  const numberEnd = endOf(number, source, at);
  if (numberEnd !== undefined) return numberToken(source.slice(at, numberEnd), at);
  const nameEnd = endOf(name, source, at);
  if (nameEnd !== undefined) return nameToken(source.slice(at, nameEnd), at);
  const quotedEnd = endOf(quotedName, source, at);
  if (quotedEnd !== undefined) return { kind: 'quoted', text: source.slice(at, quotedEnd), at };
  const symbolEnd = endOf(symbol, source, at);
  if (symbolEnd !== undefined) return { kind: 'symbol', text: source.slice(at, symbolEnd), at };
  const found = String.fromCodePoint(source.codePointAt(at) ?? 0);
  throw new CelSyntaxError(at, `Syntax error: token recognition error at: '${found}'`);
}

function nameToken(text: string, at: number): Token {
  if (text === 'true' || text === 'false') return { kind: 'literal', value: text === 'true', at, text };
  if (text === 'null') return { kind: 'literal', value: null, at, text };
  return { kind: text === 'in' ? 'symbol' : 'ident', text, at };
}

function numberToken(text: string, at: number): Token {
  const isUint = /[uU]$/.test(text);
  const digits = isUint ? text.slice(0, -1) : text;
  const isHex = digits.startsWith('0x');
  if (!isHex && /[.eE]/.test(digits)) {
    const value = Number(digits);
    if (isUint || !Number.isFinite(value)) throw new CelSyntaxError(at, 'invalid double literal');
    return { kind: 'literal', value, at, text };
  }
  // A literal of more than 64 characters counts as too large, and is not parsed.
  const value = digits.length > 64 ? maxUint + 1n : BigInt(digits);
  if (isUint && value > maxUint) throw new CelSyntaxError(at, 'invalid uint literal');
  // The parser reads the sign, so the digits of the smallest integer may exceed the largest integer by 1.
  if (!isUint && value > maxInt) throw new CelSyntaxError(at, 'invalid int literal');
  return { kind: 'literal', value: isUint ? { uint: value } : value, at, text };
}

function endOf(pattern: RegExp, source: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(source) ? pattern.lastIndex : undefined;
}
