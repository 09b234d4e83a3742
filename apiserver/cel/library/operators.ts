import { compareCodePoints } from '@homeostat/controller-runtime/api';
import { overload } from '../types/declare-function.ts';
import type { CelFunction, Overload } from '../types/cel-function.ts';
import { CelError, noSuchOverload } from '../values/cel-error.ts';
import { ArrayList, CelBytes, CelDuration, CelMap, CelTimestamp, CelUint } from '../values/cel-value.ts';
import type { CelList, CelValue, ListIdentity } from '../values/cel-value.ts';
import type { CostMeter } from '../values/cost-meter.ts';
import { equals, itemIdentity } from '../values/equals.ts';
import { doubleAt, int64, intAt, itemsOf, listAt, objectAt, textAt, uint64 } from './arguments.ts';
import { durationInRange, timestampInRange } from './time-values.ts';

const intMath: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => (b === 0n ? failed('division by zero') : a / b),
  '%': (a, b) => (b === 0n ? failed('modulus by zero') : a % b),
};

const doubleMath: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
};

function failed(message: string): never {
  throw new CelError(message);
}

const uintAt = (args: readonly CelValue[], index: number): bigint => objectAt(CelUint, args, index).value;

function arithmetic(): readonly Overload[] {
  return [
    ...Object.entries(intMath).flatMap(([sign, run]) => [
      overload(`_${sign}_(int, int) int`, (args) => int64(run(intAt(args, 0), intAt(args, 1)))),
      overload(`_${sign}_(uint, uint) uint`, (args) => new CelUint(uint64(run(uintAt(args, 0), uintAt(args, 1))))),
    ]),
    ...Object.entries(doubleMath).map(([sign, run]) =>
      overload(`_${sign}_(double, double) double`, (args) => run(doubleAt(args, 0), doubleAt(args, 1))),
    ),
    overload('-_(int) int', (args) => int64(-intAt(args, 0))),
    overload('-_(double) double', (args) => -doubleAt(args, 0)),
    overload('_+_(string, string) string', (args) => textAt(args, 0) + textAt(args, 1)),
    overload('_+_(bytes, bytes) bytes', (args) => {
      const [left, right] = [objectAt(CelBytes, args, 0).value, objectAt(CelBytes, args, 1).value];
      return new CelBytes(Buffer.concat([left, right]));
    }),
    overload('_+_(list(A), list(A)) list(A)', (args, meter) => joinLists(listAt(args, 0), listAt(args, 1), meter)),
    ...timeArithmetic(),
  ];
}

function timeArithmetic(): readonly Overload[] {
  const moment = (args: readonly CelValue[], index: number): bigint => objectAt(CelTimestamp, args, index).nanos;
  const span = (args: readonly CelValue[], index: number): bigint => objectAt(CelDuration, args, index).nanos;
  return [
    overload('_+_(timestamp, duration) timestamp', (args) => timestampInRange(moment(args, 0) + span(args, 1))),
    overload('_+_(duration, timestamp) timestamp', (args) => timestampInRange(span(args, 0) + moment(args, 1))),
    overload('_+_(duration, duration) duration', (args) => durationInRange(span(args, 0) + span(args, 1))),
    overload('_-_(timestamp, timestamp) duration', (args) => durationInRange(moment(args, 0) - moment(args, 1))),
    overload('_-_(timestamp, duration) timestamp', (args) => timestampInRange(moment(args, 0) - span(args, 1))),
    overload('_-_(duration, duration) duration', (args) => durationInRange(span(args, 0) - span(args, 1))),
    overload('-_(duration) duration', (args) => durationInRange(-span(args, 0))),
  ];
}

const relations: readonly (readonly [sign: string, holds: (order: number) => boolean])[] = [
  ['<', (order) => order < 0],
  ['<=', (order) => order <= 0],
  ['>', (order) => order > 0],
  ['>=', (order) => order >= 0],
];

const ordered = ['bool', 'int', 'uint', 'double', 'string', 'bytes', 'timestamp', 'duration'];
const numeric = ['int', 'uint', 'double'];

function comparisons(): readonly Overload[] {
  const mixed = numeric.flatMap((left) => numeric.filter((right) => right !== left).map((right) => [left, right]));
  const pairs = [...ordered.map((type) => [type, type]), ...mixed];
  return relations.flatMap(([sign, holds]) => {
    const run: CelFunction = ([left = null, right = null]) => holds(compareValues(left, right));
    return pairs.map(([left, right]) => overload(`_${sign}_(${left}, ${right}) bool`, run));
  });
}

/** Compares two values. Returns NaN when one of them is NaN. @throws CelError for values without an order */
export function compareValues(left: CelValue, right: CelValue): number {
  if (typeof left === 'string' && typeof right === 'string') return compareCodePoints(left, right);
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right);
  if (left instanceof CelBytes && right instanceof CelBytes) return Buffer.compare(left.value, right.value);
  if (left instanceof CelTimestamp && right instanceof CelTimestamp) return compareNumbers(left.nanos, right.nanos);
  if (left instanceof CelDuration && right instanceof CelDuration) return compareNumbers(left.nanos, right.nanos);
  return compareNumbers(numberIn(left), numberIn(right));
}

function numberIn(value: CelValue): bigint | number {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  if (value instanceof CelUint) return value.value;
  throw noSuchOverload();
}

function compareNumbers(left: bigint | number, right: bigint | number): number {
  if (left < right) return -1;
  if (left > right) return 1;
  return Number.isNaN(left) || Number.isNaN(right) ? Number.NaN : 0;
}

/**
 * Returns the operators of CEL. Some of them, such as `&&` and indexes, are declared here only for their types: the
 * compiler evaluates them.
 */
export function operatorOverloads(): readonly Overload[] {
  return [
    ...arithmetic(),
    ...comparisons(),
    overload('_==_(A, A) bool', ([left = null, right = null], meter) => equals(left, right, meter)),
    overload('_!=_(A, A) bool', ([left = null, right = null], meter) => !equals(left, right, meter)),
    overload('!_(bool) bool', ([value]) => (typeof value === 'boolean' ? !value : failed('no such overload'))),
    overload('@in(A, list(A)) bool', (args, meter) => isIn(args[0] ?? null, listAt(args, 1), meter)),
    overload('@in(A, map(A, B)) bool', ([key = null, map]) => map instanceof CelMap && map.get(key) !== undefined),
    // The compiler evaluates these operators without a function; they are declared only for their types.
    ...[
      '_&&_(bool, bool) bool',
      '_||_(bool, bool) bool',
      '_?_:_(bool, A, A) A',
      '_[_](list(A), int) A',
      '_[_](map(A, B), A) B',
      '_[_](optional(list(V)), int) optional(V)',
      '_[_](optional(map(K, V)), K) optional(V)',
      '_[?_](list(V), int) optional(V)',
      '_[?_](map(K, V), K) optional(V)',
      '_[?_](optional(list(V)), int) optional(V)',
      '_[?_](optional(map(K, V)), K) optional(V)',
      '@not_strictly_false(bool) bool',
      'cel.@mapInsert(map(K, V), K, V) map(K, V)',
      'cel.@mapInsert(map(K, V), map(K, V)) map(K, V)',
    ].map((signature) => overload(signature, () => failed('no such overload'))),
  ];
}

function isIn(value: CelValue, list: CelList, meter: Parameters<CelFunction>[1]): boolean {
  for (let index = 0; index < list.length; index += 1) if (equals(list.at(index), value, meter)) return true;
  return false;
}

/**
 * The concatenation of two lists, the first of which is a set or a list of type map. The concatenation identifies its
 * items as the first list does: a set by their values, a list of type map by their keys.
 */
class JoinedList extends ArrayList {
  override readonly identity: ListIdentity;

  constructor(items: readonly CelValue[], identity: ListIdentity) {
    super(items);
    this.identity = identity;
  }
}

/**
 * Evaluates `first + second`. A set gets only the items that it does not have yet. In a list of type map, items of the
 * second list replace items with the same keys at their positions.
 */
function joinLists(first: CelList, second: CelList, meter: CostMeter): CelList {
  const { identity } = first;
  meter.add((first.length + second.length) / 10);
  if (identity === 'position') return new ArrayList([...itemsOf(first), ...itemsOf(second)]);
  const joined = new Map<string, CelValue>();
  for (const item of itemsOf(first)) joined.set(itemIdentity(item, identity, meter), item);
  for (const item of itemsOf(second)) {
    const key = itemIdentity(item, identity, meter);
    if (identity !== 'value' || !joined.has(key)) joined.set(key, item);
  }
  return new JoinedList([...joined.values()], identity);
}
