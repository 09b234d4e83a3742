import { overload } from '../types/declare-function.ts';
import type { Overload } from '../types/cel-function.ts';
import { CelError } from '../values/cel-error.ts';
import { CelObject } from '../values/cel-value.ts';
import type { CelValue } from '../values/cel-value.ts';
import type { Comparable } from '../values/equals.ts';
import { intAt, objectAt, textAt } from './arguments.ts';

const nano = 1_000_000_000n;

/** A quantity such as `500m` or `2Gi`, counted in billionths. */
class CelQuantity extends CelObject implements Comparable {
  readonly typeName = 'kubernetes.Quantity';
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    super();
    this.nanos = nanos;
  }

  get identity(): string {
    return String(this.nanos);
  }
}

/** The number of billionths that each suffix means. */
const suffixes: ReadonlyMap<string, bigint> = new Map([
  ['n', 1n],
  ['u', 1000n],
  ['m', 1_000_000n],
  ['', nano],
  ...['k', 'M', 'G', 'T', 'P', 'E'].map((name, index): [string, bigint] => [name, nano * 1000n ** BigInt(index + 1)]),
  ...['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((name, index): [string, bigint] => [
    name,
    nano * 1024n ** BigInt(index + 1),
  ]),
]);

const form = /^([+-]?)(\d{1,64}(?:\.\d{0,64})?|\.\d{1,64})(?:([eE][+-]?\d{1,3})|([KMGTPE]i|[numkMGTPE])?)$/;

/** The cost to parse a quantity, in addition to the cost of its characters. */
const parseCost = 10;

/** The largest quantity that parsing returns: the largest signed integer of 64 bits. A larger one is reduced to it. */
const largest = (2n ** 63n - 1n) * nano;

/** Returns the functions for Kubernetes' quantities of resources. */
export function quantityOverloads(): readonly Overload[] {
  const at = (args: readonly CelValue[], index: number): bigint => objectAt(CelQuantity, args, index).nanos;
  const compare = (args: readonly CelValue[]): number =>
    at(args, 0) < at(args, 1) ? -1 : at(args, 0) > at(args, 1) ? 1 : 0;
  const type = 'kubernetes.Quantity';
  return [
    overload(`quantity(string) ${type}`, (args, meter) => {
      meter.add(parseCost);
      const nanos = parseQuantity(textAt(args, 0));
      if (nanos === undefined)
        throw new CelError(
          "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        );
      return new CelQuantity(nanos);
    }),
    overload('isQuantity(string) bool', (args, meter) => {
      meter.add(parseCost);
      return parseQuantity(textAt(args, 0)) !== undefined;
    }),
    // Kubernetes documents `sign` as a method, but implements it as a function. Both forms work here.
    ...[`${type}::sign() int`, `sign(${type}) int`].map((signature) =>
      overload(signature, (args) => (at(args, 0) > 0n ? 1n : at(args, 0) < 0n ? -1n : 0n)),
    ),
    overload(`${type}::isInteger() bool`, (args) => at(args, 0) % nano === 0n),
    overload(`${type}::asInteger() int`, (args) => {
      if (at(args, 0) % nano !== 0n) throw new CelError('cannot convert value to integer');
      return at(args, 0) / nano;
    }),
    overload(`${type}::asApproximateFloat() double`, (args) => Number(at(args, 0)) / 1e9),
    overload(`${type}::isGreaterThan(${type}) bool`, (args) => compare(args) > 0),
    overload(`${type}::isLessThan(${type}) bool`, (args) => compare(args) < 0),
    overload(`${type}::compareTo(${type}) int`, (args) => BigInt(compare(args))),
    ...(['add', 'sub'] as const).flatMap((name) => {
      const apply = (a: bigint, b: bigint): CelQuantity => new CelQuantity(name === 'add' ? a + b : a - b);
      return [
        overload(`${type}::${name}(${type}) ${type}`, (args) => apply(at(args, 0), at(args, 1))),
        overload(`${type}::${name}(int) ${type}`, (args) => apply(at(args, 0), intAt(args, 1) * nano)),
      ];
    }),
  ];
}

/** Parses a quantity; returns undefined for any other text. A fraction of a billionth is rounded away from zero. */
function parseQuantity(text: string): bigint | undefined {
  const match = text.length > 160 ? null : form.exec(text);
  if (match === null) return undefined;
  const [, sign, number = '', exponent, suffix = ''] = match;
  const [whole = '', fraction = ''] = number.split('.');
  const digits = BigInt(`${whole}${fraction}` || '0');
  const power = BigInt(exponent?.slice(1) ?? '0');
  const scale = (suffixes.get(suffix) ?? nano) * (power > 0n ? 10n ** power : 1n);
  const divisor = 10n ** (BigInt(fraction.length) + (power < 0n ? -power : 0n));
  const size = (digits * scale + divisor - 1n) / divisor;
  const bounded = size > largest ? largest : size;
  return sign === '-' ? -bounded : bounded;
}
