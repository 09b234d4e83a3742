import type { CelIssue } from '../syntax/cel-issue.ts';
import type { CallNode, CelNode, FoldNode, IdentNode, ListNode, MapNode, SelectNode } from '../syntax/cel-node.ts';
import type { FunctionTable, Overload } from '../types/cel-function.ts';
import { celTypes, formatType, insideOptional, listOf, mapOf, optionalOf } from '../types/cel-type.ts';
import type { CelType } from '../types/cel-type.ts';
import { literalType } from './literal-type.ts';
import { assign, assignAll, isSameType, moreGeneral, noBindings, substitute } from '../types/unify-types.ts';
import type { Bindings } from '../types/unify-types.ts';

/** The names that an expression may use. */
export interface CheckScope {
  readonly functions: FunctionTable;
  /** The variables and their types. Names of types, such as `int`, are variables, too. */
  readonly variables: ReadonlyMap<string, CelType>;
}

/** The types of an expression. */
export interface CheckedCel {
  readonly type: CelType;
  readonly typeOf: (node: CelNode) => CelType;
  /** Returns the overloads that a call may mean. There is at most one, unless a type is known only at run time. */
  readonly overloadsOf: (node: CallNode) => readonly Overload[];
  /** The names of the variables that the expression reads, without those of its macros. */
  readonly references: ReadonlySet<string>;
}

/** The maximum number of issues of one expression. */
const maxIssues = 10;

/** Checks the types of an expression. Returns the types, or the issues if there are any. */
export function checkCel(root: CelNode, scope: CheckScope): CheckedCel | readonly CelIssue[] {
  const checker = new Checker(scope);
  const type = checker.check(root);
  return checker.issues.length > 0 ? checker.issues : checker.finish(type);
}

class Checker {
  readonly issues: CelIssue[] = [];
  readonly #scope: CheckScope;
  readonly #types = new Map<CelNode, CelType>();
  readonly #overloads = new Map<CallNode, readonly Overload[]>();
  readonly #references = new Set<string>();
  readonly #locals = new Map<string, CelType[]>();
  #bindings: Bindings = noBindings;
  #params = 0;
  /**
   * The number of `format` calls around the node that is being checked. A list literal inside a `format` call may have
   * items of several types.
   */
  #formats = 0;

  constructor(scope: CheckScope) {
    this.#scope = scope;
  }

  finish(type: CelType): CheckedCel {
    const bindings = this.#bindings;
    const final = new Map<CelNode, CelType>();
    for (const [node, found] of this.#types) final.set(node, substitute(found, bindings, true));
    return {
      type: substitute(type, bindings, true),
      typeOf: (node) => final.get(node) ?? celTypes.dyn,
      overloadsOf: (node) => this.#overloads.get(node) ?? [],
      references: this.#references,
    };
  }

  check(node: CelNode): CelType {
    const type = this.#typeOf(node);
    this.#types.set(node, type);
    return type;
  }

  #typeOf(node: CelNode): CelType {
    switch (node.kind) {
      case 'literal':
        return literalType(node.value);
      case 'ident':
        return this.#ident(node);
      case 'select':
        return this.#select(node);
      case 'call':
        return this.#call(node);
      case 'list':
        return this.#list(node);
      case 'map':
        return this.#map(node);
      case 'fold':
        return this.#fold(node);
      case 'bind': {
        const value = this.check(node.value);
        return this.#within([[node.variable, value]], () => this.check(node.body));
      }
    }
  }

  #issue(at: number, message: string): CelType {
    if (this.issues.length < maxIssues) this.issues.push({ at, message });
    return celTypes.error;
  }

  #ident({ name, at }: IdentNode): CelType {
    const local = this.#locals.get(name)?.at(-1);
    if (local !== undefined) return local;
    const found = this.#global(name);
    return found ?? this.#issue(at, `undeclared reference to '${name.replace(/^\./, '')}' (in container '')`);
  }

  #global(name: string): CelType | undefined {
    const plain = name.replace(/^\./, '');
    const type = this.#scope.variables.get(plain);
    if (type !== undefined) this.#references.add(plain);
    return type;
  }

  #select(node: SelectNode): CelType {
    const qualified = qualifiedName(node);
    if (qualified !== undefined && this.#locals.get(qualified.root) === undefined) {
      const type = this.#global(qualified.name);
      if (type !== undefined) return type;
    }
    const target = this.check(node.operand);
    const inside = insideOptional(substitute(target, this.#bindings));
    const type = this.#fieldType(node.at, inside ?? target, node.field);
    if (node.isTest) return celTypes.bool;
    return inside === undefined ? type : optionalOf(type);
  }

  #fieldType(at: number, target: CelType, field: string): CelType {
    const type = substitute(target, this.#bindings);
    switch (type.kind) {
      case 'map':
        return type.value;
      case 'object':
        return type.field(field) ?? this.#issue(at, `undefined field '${field}'`);
      case 'dyn':
      case 'error':
        return celTypes.dyn;
      case 'param':
        this.#bindings = assign(type, celTypes.dyn, this.#bindings) ?? this.#bindings;
        return celTypes.dyn;
      default:
        return this.#issue(at, `type '${formatType(type)}' does not support field selection`);
    }
  }

  #call(node: CallNode): CelType {
    if (node.name === '_?._') return this.#optionalSelect(node);
    const { target } = node;
    if (target !== undefined) {
      const qualified = qualifiedName(target);
      const name = qualified === undefined ? undefined : `${qualified.name}.${node.name}`;
      if (name !== undefined && this.#scope.functions.functions(name).length > 0)
        return this.#resolve(node, this.#scope.functions.functions(name), { name, args: node.args });
    }
    const args = target === undefined ? node.args : [target, ...node.args];
    const plain = node.name.replace(/^\./, '');
    const { functions } = this.#scope;
    const candidates = target === undefined ? functions.functions(plain) : functions.methods(plain);
    if (candidates.length === 0) {
      for (const arg of args) this.check(arg);
      const known = functions.functions(plain).length + functions.methods(plain).length > 0;
      if (!known) return this.#issue(node.at, `undeclared reference to '${plain}' (in container '')`);
    }
    return this.#resolve(node, candidates, { name: plain, args });
  }

  #resolve(
    node: CallNode,
    candidates: readonly Overload[],
    { name, args }: { readonly name: string; readonly args: readonly CelNode[] },
  ): CelType {
    const types = this.#argumentTypes(name, args);
    const before = this.#bindings;
    const found: Overload[] = [];
    let result: CelType | undefined;
    for (const candidate of candidates) {
      if (candidate.args.length !== types.length) continue;
      const fresh = this.#instantiate(candidate);
      const bindings = assignAll(types, fresh.args, this.#bindings);
      if (bindings === undefined) continue;
      this.#bindings = bindings;
      found.push(candidate);
      const type = substitute(fresh.result, bindings);
      result = result === undefined || isSameType(result, type) ? type : celTypes.dyn;
    }
    if (result !== undefined) {
      this.#overloads.set(node, found);
      return result;
    }
    const shown = types.map((type) => formatType(substitute(type, before)));
    const isMethod = node.target !== undefined && args.length > node.args.length;
    const signature = isMethod ? `${shown[0]}.(${shown.slice(1).join(', ')})` : `(${shown.join(', ')})`;
    return this.#issue(node.at, `found no matching overload for '${name}' applied to '${signature}'`);
  }

  #argumentTypes(name: string, args: readonly CelNode[]): readonly CelType[] {
    const isFormat = name === 'format';
    if (isFormat) this.#formats += 1;
    const types = args.map((arg) => this.check(arg));
    if (isFormat) this.#formats -= 1;
    return types;
  }

  #instantiate({ args, result }: Overload): { readonly args: readonly CelType[]; readonly result: CelType } {
    const hasParams = [...args, result].some((type) => /\b[A-Z]\b/.test(formatType(type)));
    if (!hasParams) return { args, result };
    this.#params += 1;
    const suffix = this.#params;
    const names = new Map(
      'ABKTV'.split('').map((name): [string, CelType] => [name, { kind: 'param', name: `${name}${suffix}` }]),
    );
    return { args: args.map((type) => substitute(type, names)), result: substitute(result, names) };
  }

  #optionalSelect({ args, at }: CallNode): CelType {
    const [operand, name] = args;
    if (operand === undefined || name?.kind !== 'literal' || typeof name.value !== 'string')
      return this.#issue(at, 'unsupported optional field selection');
    this.#types.set(name, celTypes.string);
    const target = this.check(operand);
    const type = this.#fieldType(at, insideOptional(substitute(target, this.#bindings)) ?? target, name.value);
    return optionalOf(type);
  }

  #list({ items, optional }: ListNode): CelType {
    let joined: CelType | undefined;
    for (const [index, item] of items.entries()) {
      const type = this.#element(item, optional.has(index));
      joined = this.#join(joined, type, item.at);
    }
    return listOf(joined ?? this.#freshParam());
  }

  #map({ entries }: MapNode): CelType {
    let key: CelType | undefined;
    let value: CelType | undefined;
    for (const entry of entries) {
      key = this.#join(key, this.check(entry.key), entry.key.at);
      value = this.#join(value, this.#element(entry.value, entry.isOptional), entry.value.at);
    }
    return mapOf(key ?? this.#freshParam(), value ?? this.#freshParam());
  }

  #element(node: CelNode, isOptional: boolean): CelType {
    const type = this.check(node);
    if (!isOptional) return type;
    const inside = insideOptional(substitute(type, this.#bindings));
    if (inside !== undefined || type.kind === 'dyn') return inside ?? type;
    return this.#issue(node.at, `expected type '${formatType(optionalOf(type))}' but found '${formatType(type)}'`);
  }

  #join(previous: CelType | undefined, type: CelType, at: number): CelType {
    if (previous === undefined) return type;
    const bindings = assign(type, previous, this.#bindings);
    if (bindings === undefined && this.#formats > 0) return celTypes.dyn;
    if (bindings === undefined) {
      const [expected, found] = [previous, type].map((each) => formatType(substitute(each, this.#bindings)));
      this.#issue(at, `expected type '${expected}' but found '${found}'`);
      return previous;
    }
    this.#bindings = bindings;
    return moreGeneral(substitute(previous, bindings), substitute(type, bindings));
  }

  #freshParam(): CelType {
    this.#params += 1;
    return { kind: 'param', name: `V${this.#params}` };
  }

  #fold({ range, variables, loop, at }: FoldNode): CelType {
    const rangeType = this.check(range);
    const accumulator = this.check(loop.init);
    const types = this.#variableTypes(rangeType, variables.length, range.at);
    const locals = variables.map((name, index): [string, CelType] => [name, types[index] ?? celTypes.dyn]);
    return this.#within([[loop.accumulator, accumulator]], () => {
      this.#within(locals, () => {
        this.#expect(celTypes.bool, this.check(loop.condition), at);
        this.#expect(accumulator, this.check(loop.step), at);
      });
      return substitute(this.check(loop.result), this.#bindings);
    });
  }

  #variableTypes(range: CelType, count: number, at: number): readonly CelType[] {
    const type = substitute(range, this.#bindings);
    switch (type.kind) {
      case 'list':
        return count === 1 ? [type.item] : [celTypes.int, type.item];
      case 'map':
        return [type.key, type.value];
      case 'dyn':
      case 'error':
      case 'param':
        return [celTypes.dyn, celTypes.dyn];
      default:
        this.#issue(
          at,
          `expression of type '${formatType(type)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        );
        return [celTypes.error, celTypes.error];
    }
  }

  #expect(expected: CelType, found: CelType, at: number): void {
    const bindings = assign(found, expected, this.#bindings);
    if (bindings !== undefined) this.#bindings = bindings;
    else {
      const [wanted, given] = [expected, found].map((type) => formatType(substitute(type, this.#bindings)));
      this.#issue(at, `expected type '${wanted}' but found '${given}'`);
    }
  }

  #within<R>(locals: readonly (readonly [string, CelType])[], check: () => R): R {
    for (const [name, type] of locals) {
      const stack = this.#locals.get(name);
      if (stack === undefined) this.#locals.set(name, [type]);
      else stack.push(type);
    }
    const result = check();
    for (const [name] of locals) this.#locals.get(name)?.pop();
    return result;
  }
}

/**
 * Returns the name of an identifier, or the dotted name of field selections on an identifier, such as `ip.isCanonical`,
 * with the identifier as `root`; undefined for any other expression.
 */
export function qualifiedName(node: CelNode): { readonly root: string; readonly name: string } | undefined {
  if (node.kind === 'ident') return { root: node.name, name: node.name };
  if (node.kind !== 'select' || node.isTest) return undefined;
  const parent = qualifiedName(node.operand);
  return parent === undefined ? undefined : { root: parent.root, name: `${parent.name}.${node.field}` };
}
