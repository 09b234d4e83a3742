import { overload } from '../types/declare-function.ts';
import type { Overload } from '../types/cel-function.ts';
import { CelError } from '../values/cel-error.ts';
import { CelObject } from '../values/cel-value.ts';
import type { CelValue } from '../values/cel-value.ts';
import type { CostMeter } from '../values/cost-meter.ts';
import type { Comparable } from '../values/equals.ts';
import { objectAt, textAt } from './arguments.ts';

class CelSemver extends CelObject implements Comparable {
  readonly typeName = 'kubernetes.Semver';
  /** The major, minor and patch numbers of the version. */
  readonly numbers: readonly bigint[];
  readonly preRelease: readonly string[];

  constructor(numbers: readonly bigint[], preRelease: readonly string[]) {
    super();
    this.numbers = numbers;
    this.preRelease = preRelease;
  }

  get identity(): string {
    return `${this.numbers.join('.')}-${this.preRelease.join('.')}`;
  }
}

const number = '(0|[1-9]\\d{0,18})';
const label = '(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)';
const form = new RegExp(
  `^${number}\\.${number}\\.${number}(?:-(${label}(?:\\.${label})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
);

/** The maximum length of a text that is parsed as a version. */
const maxLength = 256;

/** The cost to parse a version, in addition to the cost of its characters. */
const parseCost = 10;

/**
 * Returns the functions for semantic versions 2.0.0. If their second argument is `true`, `semver` and `isSemver` accept
 * a leading `v`, missing parts and leading zeros.
 */
export function semverOverloads(): readonly Overload[] {
  const type = 'kubernetes.Semver';
  const at = (args: readonly CelValue[], index: number): CelSemver => objectAt(CelSemver, args, index);
  return [
    overload(`semver(string) ${type}`, (args, meter) => read(meter, textAt(args, 0))),
    overload(`semver(string, bool) ${type}`, (args, meter) => read(meter, normalised(args))),
    overload('isSemver(string) bool', (args, meter) => parse(meter, textAt(args, 0)) !== undefined),
    overload('isSemver(string, bool) bool', (args, meter) => parse(meter, normalised(args)) !== undefined),
    ...['major', 'minor', 'patch'].map((name, index) =>
      overload(`${type}::${name}() int`, (args) => at(args, 0).numbers[index] ?? 0n),
    ),
    overload(`${type}::compareTo(${type}) int`, (args) => BigInt(compare(at(args, 0), at(args, 1)))),
    overload(`${type}::isLessThan(${type}) bool`, (args) => compare(at(args, 0), at(args, 1)) < 0),
    overload(`${type}::isGreaterThan(${type}) bool`, (args) => compare(at(args, 0), at(args, 1)) > 0),
  ];
}

function read(meter: CostMeter, text: string): CelSemver {
  const version = parse(meter, text);
  if (version === undefined) throw new CelError('Invalid Semantic Version');
  return version;
}

function parse(meter: CostMeter, text: string): CelSemver | undefined {
  meter.add(parseCost);
  const match = text.length > maxLength ? null : form.exec(text);
  if (match === null) return undefined;
  const [, major = '0', minor = '0', patch = '0', preRelease] = match;
  return new CelSemver([major, minor, patch].map(BigInt), preRelease?.split('.') ?? []);
}

function normalised(args: readonly CelValue[]): string {
  const text = textAt(args, 0);
  if (args[1] !== true || text.length > maxLength) return text;
  const [, core = '', rest = ''] = /^v?([^-+]*)(.*)$/.exec(text) ?? [];
  const parts = core.split('.').map((part) => part.replace(/^0+(?=\d)/, ''));
  while (parts.length < 3) parts.push('0');
  return `${parts.join('.')}${rest}`;
}

function compare(first: CelSemver, second: CelSemver): number {
  for (const [index, left] of first.numbers.entries()) {
    const right = second.numbers[index] ?? 0n;
    if (left !== right) return left < right ? -1 : 1;
  }
  return comparePreReleases(first.preRelease, second.preRelease);
}

/**
 * Compares the pre-release labels of two versions. A version without labels is greater than a version with labels; a
 * number is less than a word.
 */
function comparePreReleases(first: readonly string[], second: readonly string[]): number {
  if (first.length === 0 || second.length === 0) return Math.sign(second.length - first.length);
  for (const [index, left] of first.entries()) {
    const right = second[index];
    if (right === undefined) return 1;
    if (left !== right) return compareLabels(left, right);
  }
  return first.length < second.length ? -1 : 0;
}

function compareLabels(left: string, right: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)];
  if (isNumber && isOtherNumber) return BigInt(left) < BigInt(right) ? -1 : 1;
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  return left < right ? -1 : 1;
}
