import { inBounds } from '../../base/in-bounds.ts';
import { CelSyntaxError } from './cel-issue.ts';
import type { CallNode, CelNode, MapEntryNode } from './cel-node.ts';
import { tokenize } from './lexer.ts';
import type { Token } from './lexer.ts';
import { expandMacro } from './macros.ts';

/** The maximum number of characters of an expression, as in cel-go. */
const maxLength = 100_000;

/** The maximum depth of an expression. Expressions that people write have a depth of about ten. */
const maxDepth = 250;

/**
 * The maximum number of nodes of an expression. The limit keeps the check of an expression short, because each
 * expression is checked in a single step.
 */
const maxNodes = 20_000;

/**
 * The binary operators by precedence, the weakest first. `||`, `&&` and `? :` are weaker than all of them, and parsed
 * separately.
 */
const levels: readonly (readonly string[])[] = [
  ['==', '!=', '<', '<=', '>', '>=', 'in'],
  ['+', '-'],
  ['*', '/', '%'],
];

const reserved: ReadonlySet<string> = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);

/** Parses an expression of CEL, and expands its macros. @throws CelSyntaxError */
export function parseCel(source: string): CelNode {
  if (source.length > maxLength)
    throw new CelSyntaxError(0, `expression code point size exceeds limit: size: ${source.length}, limit ${maxLength}`);
  return new Parser(tokenize(source)).parse();
}

class Parser {
  readonly #tokens: readonly Token[];
  #index = 0;
  #depth = 0;
  #nodes = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): CelNode {
    const node = this.#expression();
    if (this.#token.kind !== 'end') throw this.#unexpected();
    return node;
  }

  get #token(): Token {
    return inBounds(this.#tokens[this.#index]);
  }

  #next(): Token {
    const token = this.#token;
    if (token.kind !== 'end') this.#index += 1;
    return token;
  }

  #is(text: string): boolean {
    return this.#token.kind === 'symbol' && this.#token.text === text;
  }

  #take(text: string): Token | undefined {
    return this.#is(text) ? this.#next() : undefined;
  }

  #expect(text: string): Token {
    const token = this.#take(text);
    if (token === undefined) throw this.#unexpected();
    return token;
  }

  #unexpected(): CelSyntaxError {
    const { at, text } = this.#token;
    return new CelSyntaxError(at, `Syntax error: mismatched input '${text}'`);
  }

  #counted<N extends CelNode>(node: N): N {
    this.#nodes += 1;
    if (this.#nodes > maxNodes) throw new CelSyntaxError(node.at, `an expression has at most ${maxNodes} parts`);
    return node;
  }

  #nested<R>(read: () => R): R {
    this.#depth += 1;
    if (this.#depth > maxDepth)
      throw new CelSyntaxError(this.#token.at, `expression recursion limit exceeded: ${maxDepth}`);
    const result = read();
    this.#depth -= 1;
    return result;
  }

  #expression(): CelNode {
    return this.#nested(() => {
      const condition = this.#logical('||');
      const mark = this.#take('?');
      if (mark === undefined) return condition;
      const then = this.#logical('||');
      this.#expect(':');
      return this.#call('_?_:_', [condition, then, this.#expression()], mark.at);
    });
  }

  /** Parses a chain of `||` or `&&`. A long chain becomes a balanced tree, so that it is not nested deeply. */
  #logical(operator: '||' | '&&'): CelNode {
    const terms = [this.#term(operator)];
    const places: number[] = [];
    for (let token = this.#take(operator); token !== undefined; token = this.#take(operator)) {
      places.push(token.at);
      terms.push(this.#term(operator));
    }
    return this.#balanced(`_${operator}_`, terms, places);
  }

  #term(operator: '||' | '&&'): CelNode {
    return operator === '||' ? this.#logical('&&') : this.#binary(0);
  }

  #balanced(name: string, terms: readonly CelNode[], places: readonly number[]): CelNode {
    if (terms.length === 1) return inBounds(terms[0]);
    const middle = Math.ceil(terms.length / 2);
    const left = this.#balanced(name, terms.slice(0, middle), places.slice(0, middle - 1));
    const right = this.#balanced(name, terms.slice(middle), places.slice(middle));
    return this.#call(name, [left, right], inBounds(places[middle - 1]));
  }

  #binary(level: number): CelNode {
    const operators = levels[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    let chained = 0;
    while (this.#token.kind === 'symbol' && operators.includes(this.#token.text)) {
      const { text, at } = this.#next();
      chained += 1;
      if (chained > maxDepth) throw new CelSyntaxError(at, `expression recursion limit exceeded: ${maxDepth}`);
      left = this.#call(text === 'in' ? '@in' : `_${text}_`, [left, this.#binary(level + 1)], at);
    }
    return left;
  }

  #unary(): CelNode {
    const sign = this.#take('!') ?? this.#take('-');
    if (sign === undefined) return this.#member();
    const { value, kind } = { value: undefined, ...this.#token };
    if (sign.text === '-' && kind === 'literal' && (typeof value === 'bigint' || typeof value === 'number')) {
      return this.#suffixes(this.#negative(value, sign.at));
    }
    return this.#nested(() => this.#call(`${sign.text}_`, [this.#unary()], sign.at));
  }

  #negative(value: bigint | number, at: number): CelNode {
    this.#next();
    return this.#counted({ kind: 'literal', value: -value, at });
  }

  #member(): CelNode {
    return this.#suffixes(this.#primary());
  }

  #suffixes(first: CelNode): CelNode {
    let node = first;
    let chained = 0;
    for (;;) {
      const mark = this.#take('.') ?? this.#take('[');
      if (mark === undefined) return node;
      chained += 1;
      if (chained > maxDepth) throw new CelSyntaxError(mark.at, `expression recursion limit exceeded: ${maxDepth}`);
      node = mark.text === '.' ? this.#select(node, mark.at) : this.#indexed(node, mark.at);
    }
  }

  #select(operand: CelNode, at: number): CelNode {
    const isOptional = this.#take('?') !== undefined;
    const token = this.#next();
    if (token.kind !== 'ident' && token.kind !== 'quoted') {
      this.#index -= token.kind === 'end' ? 0 : 1;
      throw this.#unexpected();
    }
    const field = token.kind === 'quoted' ? token.text.slice(1, -1) : token.text;
    if (isOptional) {
      const name = this.#counted<CelNode>({ kind: 'literal', value: field, at: token.at });
      return this.#call('_?._', [operand, name], at);
    }
    const open = token.kind === 'ident' ? this.#take('(') : undefined;
    if (open === undefined) return this.#counted({ kind: 'select', operand, field, isTest: false, at });
    return this.#macro({ kind: 'call', name: field, target: operand, args: this.#list(')'), at: open.at });
  }

  #indexed(operand: CelNode, at: number): CelNode {
    const isOptional = this.#take('?') !== undefined;
    const index = this.#expression();
    this.#expect(']');
    return this.#call(isOptional ? '_[?_]' : '_[_]', [operand, index], at);
  }

  #primary(): CelNode {
    const token = this.#token;
    if (token.kind === 'literal') return this.#literal(token);
    if (this.#take('(') !== undefined) {
      const inner = this.#expression();
      this.#expect(')');
      return inner;
    }
    if (this.#take('[') !== undefined) return this.#listLiteral(token.at);
    if (this.#take('{') !== undefined) return this.#mapLiteral(token.at);
    const dot = this.#take('.');
    if (this.#token.kind !== 'ident') throw this.#unexpected();
    const { text, at } = this.#next();
    return this.#identifier(dot === undefined ? text : `.${text}`, dot?.at ?? at);
  }

  #literal(token: Token & { readonly kind: 'literal' }): CelNode {
    this.#next();
    // This number is one above the largest integer, so it is valid only with a minus sign.
    if (token.value === 2n ** 63n) throw new CelSyntaxError(token.at, 'invalid int literal');
    return this.#counted({ kind: 'literal', value: token.value, at: token.at });
  }

  #identifier(name: string, at: number): CelNode {
    if (reserved.has(name.replace(/^\./, ''))) throw new CelSyntaxError(at, `reserved identifier: ${name}`);
    const open = this.#take('(');
    if (open !== undefined)
      return this.#macro({ kind: 'call', name, target: undefined, args: this.#list(')'), at: open.at });
    if (/^[A-Z]/.test(name) && this.#is('{'))
      throw new CelSyntaxError(this.#token.at, `undeclared reference to '${name}' (in container '')`);
    return this.#counted({ kind: 'ident', name, at });
  }

  #macro(call: CallNode): CelNode {
    return this.#counted(expandMacro(this.#counted(call)));
  }

  #call(name: string, args: readonly CelNode[], at: number): CallNode {
    return this.#counted({ kind: 'call', name, target: undefined, args, at });
  }

  #list(close: string): readonly CelNode[] {
    const items: CelNode[] = [];
    while (!this.#is(close)) {
      items.push(this.#expression());
      if (this.#take(',') === undefined) break;
      if (this.#is(close)) throw this.#unexpected();
    }
    this.#expect(close);
    return items;
  }

  #listLiteral(at: number): CelNode {
    const items: CelNode[] = [];
    const optional = new Set<number>();
    while (!this.#is(']')) {
      if (this.#take('?') !== undefined) optional.add(items.length);
      items.push(this.#expression());
      if (this.#take(',') === undefined) break;
    }
    this.#expect(']');
    return this.#counted({ kind: 'list', items, optional, at });
  }

  #mapLiteral(at: number): CelNode {
    const entries: MapEntryNode[] = [];
    while (!this.#is('}')) {
      const isOptional = this.#take('?') !== undefined;
      const key = this.#expression();
      const colon = this.#expect(':');
      entries.push({ key, value: this.#expression(), isOptional, at: colon.at });
      if (this.#take(',') === undefined) break;
    }
    this.#expect('}');
    return this.#counted({ kind: 'map', entries, at });
  }
}
