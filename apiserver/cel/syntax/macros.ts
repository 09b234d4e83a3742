import { accumulatorName } from './cel-node.ts';
import type { BindNode, CallNode, CelNode, FoldMacro, FoldNode, IdentNode, ListNode, MapNode } from './cel-node.ts';
import { CelSyntaxError } from './cel-issue.ts';

/** Expands a call if it is a macro; otherwise returns the call itself. @throws CelSyntaxError */
export function expandMacro(macro: CallNode): CelNode {
  const { target, name, args } = macro;
  if (target === undefined) return name === 'has' && args.length === 1 ? expandHas(macro) : macro;
  if ((name === 'optMap' || name === 'optFlatMap') && args.length === 2) return expandOptional(macro);
  if (name === 'sortBy' && args.length === 2) return expandSortBy(macro);
  const expand = folds.get(`${name}/${args.length}`);
  return expand === undefined ? macro : expand(macro);
}

function expandHas({ args, at }: CallNode): CelNode {
  const [operand] = args;
  if (operand?.kind === 'select' && !operand.isTest) return { ...operand, isTest: true };
  throw new CelSyntaxError(operand?.at ?? at, 'invalid argument to has() macro');
}

/**
 * Expands `o.optMap(v, e)` to `o.hasValue() ? optional.of(e with v = o.value()) : optional.none()`. For `optFlatMap`,
 * the result is the same without `optional.of`.
 */
function expandOptional({ target, name, args, at }: CallNode): CelNode {
  const [variable, body] = args;
  if (target === undefined || body === undefined) throw new CelSyntaxError(at, `${name}() takes two arguments`);
  const bound: BindNode = {
    kind: 'bind',
    variable: nameOf(variable, at, `${name}() variable name must be a simple identifier`),
    value: method(target, 'value', at),
    body,
    at,
  };
  const found = name === 'optMap' ? newCall('optional.of', [bound], at) : bound;
  return newCall('_?_:_', [method(target, 'hasValue', at), found, newCall('optional.none', [], at)], at);
}

/** Expands `l.sortBy(v, e)` to `l.@sortByAssociatedKeys(l.map(v, e))`, where `l` is evaluated once. */
function expandSortBy(macro: CallNode): CelNode {
  const { target, at } = macro;
  if (target === undefined) return macro;
  const variable = '@sortBy';
  const keys = newFold({ ...macro, target: ident(variable, at) }, { macro: 'map', variables: 1, hasFilter: false });
  const body: CallNode = { ...method(ident(variable, at), '@sortByAssociatedKeys', at), args: [keys] };
  return { kind: 'bind', variable, value: target, body, at };
}

type Expand = (macro: CallNode) => FoldNode | CallNode;

const folds: ReadonlyMap<string, Expand> = new Map<string, Expand>([
  ...quantifiers(2),
  ...quantifiers(3),
  ['map/2', (each) => newFold(each, { macro: 'map', variables: 1, hasFilter: false })],
  ['map/3', (each) => newFold(each, { macro: 'map', variables: 1, hasFilter: true })],
  ['filter/2', (each) => newFold(each, { macro: 'filter', variables: 1, hasFilter: false })],
  ...(['transformList', 'transformMap', 'transformMapEntry'] as const).flatMap((macro): [string, Expand][] => [
    [`${macro}/3`, (each) => newFold(each, { macro, variables: 2, hasFilter: false })],
    [`${macro}/4`, (each) => newFold(each, { macro, variables: 2, hasFilter: true })],
  ]),
]);

function quantifiers(size: 2 | 3): readonly [string, Expand][] {
  const names: readonly (readonly [string, FoldMacro])[] = [
    ['all', 'all'],
    ['exists', 'exists'],
    ['exists_one', 'existsOne'],
    ['existsOne', 'existsOne'],
  ];
  return names.map(([name, macro]) => [
    `${name}/${size}`,
    (each) => newFold(each, { macro, variables: size - 1, hasFilter: false }),
  ]);
}

interface FoldForm {
  readonly macro: FoldMacro;
  readonly variables: number;
  readonly hasFilter: boolean;
}

function newFold(macroCall: CallNode, { macro, variables, hasFilter }: FoldForm): FoldNode {
  const { target, args, at } = macroCall;
  const names = args.slice(0, variables).map((arg) => nameOf(arg, at, 'argument must be a simple name'));
  const [filter, body] = hasFilter ? args.slice(variables) : [undefined, args[variables]];
  if (target === undefined || body === undefined) throw new CelSyntaxError(at, `wrong arguments of ${macro}`);
  if (new Set(names).size < names.length) throw new CelSyntaxError(at, `duplicate variable name: ${names[0]}`);
  const parts = { filter, body, item: ident(names[0] ?? '', at), key: ident(names[0] ?? '', at), at };
  return { kind: 'fold', macro, range: target, variables: names, filter, body, loop: loopOf(macro, parts), at };
}

interface LoopParts {
  readonly filter: CelNode | undefined;
  readonly body: CelNode;
  readonly item: IdentNode;
  readonly key: IdentNode;
  readonly at: number;
}

function loopOf(macro: FoldMacro, { filter, body, item, key, at }: LoopParts): FoldNode['loop'] {
  const accumulator = accumulatorName;
  const accu = (): IdentNode => ident(accumulator, at);
  const literal = (value: boolean | bigint): CelNode => ({ kind: 'literal', value, at });
  const notFalse = (arg: CelNode): CelNode => newCall('@not_strictly_false', [arg], at);
  const when = (condition: CelNode | undefined, step: CelNode): CelNode =>
    condition === undefined ? step : newCall('_?_:_', [condition, step, accu()], at);
  const append = (element: CelNode): CelNode => newCall('_+_', [accu(), list([element], at)], at);
  const always = literal(true);
  const base = { accumulator, result: accu() };
  switch (macro) {
    case 'all':
      return { ...base, init: literal(true), condition: notFalse(accu()), step: newCall('_&&_', [accu(), body], at) };
    case 'exists': {
      const condition = notFalse(newCall('!_', [accu()], at));
      return { ...base, init: literal(false), condition, step: newCall('_||_', [accu(), body], at) };
    }
    case 'existsOne': {
      const step = when(body, newCall('_+_', [accu(), literal(1n)], at));
      return {
        ...base,
        init: literal(0n),
        condition: always,
        step,
        result: newCall('_==_', [accu(), literal(1n)], at),
      };
    }
    case 'filter':
      return { ...base, init: list([], at), condition: always, step: when(body, append(item)) };
    case 'map':
    case 'transformList':
      return { ...base, init: list([], at), condition: always, step: when(filter, append(body)) };
    case 'transformMap':
      return {
        ...base,
        init: map(at),
        condition: always,
        step: when(filter, newCall('cel.@mapInsert', [accu(), key, body], at)),
      };
    case 'transformMapEntry':
      return {
        ...base,
        init: map(at),
        condition: always,
        step: when(filter, newCall('cel.@mapInsert', [accu(), body], at)),
      };
  }
}

function nameOf(node: CelNode | undefined, at: number, rule: string): string {
  if (node?.kind === 'ident') return node.name;
  throw new CelSyntaxError(node?.at ?? at, rule);
}

function ident(name: string, at: number): IdentNode {
  return { kind: 'ident', name, at };
}

function list(items: readonly CelNode[], at: number): ListNode {
  return { kind: 'list', items, optional: new Set(), at };
}

function map(at: number): MapNode {
  return { kind: 'map', entries: [], at };
}

function newCall(name: string, args: readonly CelNode[], at: number): CallNode {
  return { kind: 'call', name, target: undefined, args, at };
}

function method(target: CelNode, name: string, at: number): CallNode {
  return { kind: 'call', name, target, args: [], at };
}
