import type { CelType } from '../types/cel-type.ts';
import { anySize, fixed, noCost, plus, scaled, times, unbounded } from './cost-range.ts';
import type { CostRange } from './cost-range.ts';
import { accessCheckCost, characterCost, patternCost } from './runtime-cost.ts';

/** An argument of a call. The estimate depends on its size. */
export interface SizedPart {
  readonly type: CelType;
  readonly size: CostRange;
  /** The value, if the argument is a literal integer. */
  readonly literal: number | undefined;
  /** The size of each item of a list, or of each value of a map. */
  readonly itemSize: CostRange;
}

export interface CallEstimate {
  readonly cost: CostRange;
  /** The size of the result; undefined when it follows from the type alone. */
  readonly size?: CostRange;
}

/** Estimates a call from its arguments. The first argument of a method is its target. */
type Estimate = (parts: readonly SizedPart[]) => CallEstimate;

const nothing: SizedPart = { type: { kind: 'dyn' }, size: anySize, literal: undefined, itemSize: anySize };
const at = (parts: readonly SizedPart[], index: number): SizedPart => parts[index] ?? nothing;
const one: Estimate = () => ({ cost: fixed(1) });
const read =
  (factor = 1): Estimate =>
  (parts) => ({ cost: scaled(at(parts, 0).size, factor * characterCost) });

/** The length of the longest pattern among the named formats. */
const formatPattern = 128;

function sameSize(parts: readonly SizedPart[]): CallEstimate {
  const { size } = at(parts, 0);
  return { cost: scaled(size, characterCost), size };
}

function pattern(parts: readonly SizedPart[]): CallEstimate {
  const text = scaled(plus(at(parts, 0).size, fixed(1)), characterCost);
  return { cost: times(text, scaled(at(parts, 1).size, patternCost)) };
}

function found(parts: readonly SizedPart[]): CallEstimate {
  return { ...pattern(parts), size: { min: 0, max: at(parts, 0).size.max } };
}

function traversal(parts: readonly SizedPart[]): CallEstimate {
  const { type, size, itemSize } = at(parts, 0);
  if (type.kind !== 'list') return { cost: scaled(size, characterCost) };
  const isText = type.item.kind === 'string' || type.item.kind === 'bytes';
  return { cost: times(size, isText ? plus(fixed(1), scaled(itemSize, characterCost)) : fixed(1)) };
}

/**
 * Estimates a comparison of two values by the size of the smaller value. A number or boolean of a schema has the size
 * 0, so a comparison with it adds nothing to the cost of the two operands.
 */
function comparison(parts: readonly SizedPart[]): CallEstimate {
  const max = Math.min(at(parts, 0).size.max, at(parts, 1).size.max);
  return { cost: scaled({ min: max > 0 ? 1 : 0, max }, characterCost) };
}

function orderedComparison(parts: readonly SizedPart[]): CallEstimate {
  const { kind } = at(parts, 0).type;
  return kind === 'string' || kind === 'bytes' ? comparison(parts) : one(parts);
}

function equality(parts: readonly SizedPart[]): CallEstimate {
  const { type } = at(parts, 0);
  return type.kind === 'opaque' && /^(?:net|kubernetes)\./.test(type.name) ? one(parts) : comparison(parts);
}

function addition(parts: readonly SizedPart[]): CallEstimate {
  const { type } = at(parts, 0);
  const size = plus(at(parts, 0).size, at(parts, 1).size);
  if (type.kind === 'string' || type.kind === 'bytes') return { cost: scaled(size, characterCost), size };
  return type.kind === 'list' ? { cost: fixed(1), size } : { cost: fixed(1) };
}

function membership(parts: readonly SizedPart[]): CallEstimate {
  return { cost: at(parts, 1).type.kind === 'map' ? fixed(1) : at(parts, 1).size };
}

function containment(parts: readonly SizedPart[]): CallEstimate {
  return { cost: times(scaled(at(parts, 0).size, characterCost), scaled(at(parts, 1).size, characterCost)) };
}

function replacement(parts: readonly SizedPart[]): CallEstimate {
  const [text, old, by] = [at(parts, 0).size, at(parts, 1).size, at(parts, 2).size];
  const cost = scaled(text, 2 * characterCost);
  const longest = old.min === 0 ? plus(fixed(text.max), times(fixed(text.max + 1), fixed(by.max))).max : undefined;
  const grown =
    by.max <= old.min ? text.max : times(fixed(Math.ceil(text.max / Math.max(1, old.min))), fixed(by.max)).max;
  return { cost, size: { min: 0, max: longest ?? grown } };
}

function splitting(parts: readonly SizedPart[]): CallEstimate {
  const { size } = at(parts, 0);
  return { cost: scaled(size, 2 * characterCost), size: { min: 0, max: at(parts, 2).literal ?? size.max } };
}

function joining(parts: readonly SizedPart[]): CallEstimate {
  const { size: count, itemSize } = at(parts, 0);
  const gaps = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) };
  const separators = parts.length < 2 ? noCost : times(at(parts, 1).size, gaps);
  const size = plus(times(count, itemSize), separators);
  return { cost: scaled(size, characterCost), size };
}

function validation(parts: readonly SizedPart[]): CallEstimate {
  return { cost: scaled(scaled(at(parts, 1).size, characterCost), formatPattern * patternCost) };
}

function product(parts: readonly SizedPart[]): CallEstimate {
  return { cost: plus(times(at(parts, 0).size, at(parts, 1).size), fixed(1)) };
}

/** The cost to create a list. */
const newListCost = 11;

/**
 * Returns the estimate of a function that returns a new list of this size. For functions that sort, and for `distinct`,
 * callers pass the square of the real size, as in Kubernetes.
 */
function newList(size: CostRange, factor: number): CallEstimate {
  return { cost: plus(scaled(size, factor), fixed(newListCost)), size };
}

function square(size: CostRange): CostRange {
  return times(size, size);
}

function sorting(parts: readonly SizedPart[]): CallEstimate {
  const { type, size } = at(parts, 0);
  const isText = type.kind === 'list' && (type.item.kind === 'string' || type.item.kind === 'bytes');
  return newList(square(size), isText ? 2 + characterCost : 2);
}

function slicing(parts: readonly SizedPart[]): CallEstimate {
  const [from, to] = [at(parts, 1).literal ?? 0, at(parts, 2).literal ?? at(parts, 0).size.max];
  return newList(fixed(Math.max(0, to - from)), 1);
}

/** Returns the estimate for `containsIP` or `containsCIDR`, which compare the bytes of two addresses. */
function contained(extra: number): Estimate {
  return (parts) => {
    const { type, size } = at(parts, 1);
    const text = type.kind === 'string' ? scaled(size, characterCost) : noCost;
    return { cost: plus({ min: 1 + extra, max: 4 + extra * 3 }, text) };
  };
}

function named(names: readonly string[], estimate: Estimate): readonly (readonly [string, Estimate])[] {
  return names.map((name) => [name, estimate]);
}

/** The estimates of Kubernetes, by the name of the function. A function that is not listed costs 1. */
const estimates: ReadonlyMap<string, Estimate> = new Map([
  ...named(['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf'], traversal),
  ...named(['sort'], sorting),
  ...named(['@sortByAssociatedKeys'], ([, ...keys]) => sorting(keys)),
  ...named(['distinct'], (parts) => newList(square(at(parts, 0).size), 2)),
  ...named(['reverse'], (parts) => newList(at(parts, 0).size, 1)),
  ...named(['flatten'], (parts) =>
    newList(at(parts, 0).size, parts.length < 2 ? 1 : (at(parts, 1).literal ?? unbounded)),
  ),
  ...named(['slice'], slicing),
  ...named(['lists.range'], (parts) => newList(fixed(at(parts, 0).literal ?? unbounded), 1)),
  ...named(['url', 'lowerAscii', 'upperAscii', 'substring', 'trim', 'charAt'], sameSize),
  ...named(['matches'], pattern),
  ...named(['find', 'findAll'], found),
  ...named(['_==_', '_!=_'], equality),
  ...named(['_<_', '_<=_', '_>_', '_>=_'], orderedComparison),
  ...named(['_+_'], addition),
  ...named(['@in'], membership),
  ...named(['contains'], containment),
  ...named(['startsWith', 'endsWith'], (parts) => ({ cost: scaled(at(parts, 1).size, characterCost) })),
  ...named(['replace'], replacement),
  ...named(['split'], splitting),
  ...named(['join'], joining),
  ...named(['cidr', 'isIP', 'isCIDR', 'quantity', 'isQuantity', 'semver', 'isSemver', 'format'], read()),
  ...named(['ip'], (parts) => (at(parts, 0).type.kind === 'string' ? read()(parts) : one(parts))),
  ...named(['ip.isCanonical'], read(2)),
  ...named(['containsIP'], contained(0)),
  ...named(['containsCIDR'], contained(1)),
  ...named(['validate'], validation),
  ...named(['sets.contains', 'sets.intersects', 'sets.equivalent'], product),
  ...named(['check'], () => ({ cost: fixed(accessCheckCost) })),
  ...named(['bytes', 'string'], (parts) => {
    const { type, size } = at(parts, 0);
    return type.kind === 'string' || type.kind === 'bytes'
      ? { cost: scaled(size, characterCost), size: scaled(size, 4) }
      : { cost: fixed(1), ...(type.kind === 'dyn' ? {} : { size: { min: 0, max: 64 } }) };
  }),
]);

export function estimateCall(name: string, parts: readonly SizedPart[]): CallEstimate {
  return (estimates.get(name) ?? one)(parts);
}
