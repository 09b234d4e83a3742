import { sizeOf } from '../values/cel-value.ts';
import type { CelValue } from '../values/cel-value.ts';

/** Returns the cost of one call from its arguments. The first argument of a method is its target. */
export type RuntimeCost = (args: readonly CelValue[]) => number;

/** The cost of each character that is read, and of each character of a pattern. */
export const characterCost = 0.1;
export const patternCost = 0.25;

const one: RuntimeCost = () => 1;
const size = (args: readonly CelValue[], index: number): number => sizeOf(args[index] ?? null);
const read =
  (factor = 1): RuntimeCost =>
  (args) =>
    Math.ceil(size(args, 0) * factor * characterCost);
const smaller: RuntimeCost = (args) => Math.ceil(Math.min(size(args, 0), size(args, 1)) * characterCost);
const pattern: RuntimeCost = (args) =>
  Math.ceil((1 + size(args, 0)) * characterCost) * Math.ceil(size(args, 1) * patternCost);
const product: RuntimeCost = (args) => 1 + size(args, 0) * size(args, 1);

/** The cost of an access check. It is so high that an expression can make only two access checks. */
export const accessCheckCost = 350_000;

/** The costs of Kubernetes, by the name of the function. A function that is not listed costs 1. */
const costs: ReadonlyMap<string, RuntimeCost> = new Map([
  ...['_==_', '_!=_', '_<_', '_<=_', '_>_', '_>=_'].map((name): [string, RuntimeCost] => [name, smaller]),
  ['_+_', (args) => (typeof args[0] === 'string' ? Math.ceil((size(args, 0) + size(args, 1)) * characterCost) : 1)],
  ['@in', (args) => Math.max(1, typeof args[1] === 'object' && args[1]?.typeName === 'list' ? size(args, 1) : 1)],
  ...['startsWith', 'endsWith'].map((name): [string, RuntimeCost] => [
    name,
    (args) => Math.ceil(size(args, 1) * characterCost),
  ]),
  ['contains', (args) => Math.ceil(size(args, 0) * characterCost) * Math.ceil(size(args, 1) * characterCost)],
  ...['matches', 'find', 'findAll'].map((name): [string, RuntimeCost] => [name, pattern]),
  ...['isSorted', 'sum', 'max', 'min', 'sort', 'first', 'last', 'slice'].map((name): [string, RuntimeCost] => [
    name,
    (args) => Math.max(1, size(args, 0)),
  ]),
  ...[
    'indexOf',
    'lastIndexOf',
    'url',
    'isURL',
    'lowerAscii',
    'upperAscii',
    'substring',
    'trim',
    'charAt',
    'strings.quote',
    'string',
    'bytes',
    'format',
  ].map((name): [string, RuntimeCost] => [name, read()]),
  ...['replace', 'split', 'join', 'ip.isCanonical'].map((name): [string, RuntimeCost] => [name, read(2)]),
  ...['cidr', 'isIP', 'isCIDR', 'ip', 'quantity', 'isQuantity', 'semver', 'isSemver'].map(
    (name): [string, RuntimeCost] => [name, read()],
  ),
  ['validate', (args) => Math.ceil((1 + size(args, 1)) * characterCost) * 32],
  ...['sets.contains', 'sets.intersects', 'sets.equivalent'].map((name): [string, RuntimeCost] => [name, product]),
  ['check', () => accessCheckCost],
]);

export function runtimeCost(name: string): RuntimeCost {
  return costs.get(name) ?? one;
}
