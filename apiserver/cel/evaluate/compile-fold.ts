import type { CelNode, FoldNode } from '../syntax/cel-node.ts';
import { CelError, noSuchOverload } from '../values/cel-error.ts';
import { ArrayList, CelList, CelMap, EntryMap } from '../values/cel-value.ts';
import type { CelValue } from '../values/cel-value.ts';
import { ignorable } from './frame.ts';
import type { Frame, Run } from './frame.ts';

/** The part of the compiler that folds need. */
interface FoldCompiler {
  compile(node: CelNode): Run;
  within<R>(names: readonly string[], compile: (slots: readonly number[]) => R): R;
}

/** Costs of one round of a loop as CEL defines it, without those of the author's expressions. */
const roundCosts = { all: 3, exists: 4, existsOne: 1, filter: 1, map: 1, other: 1 } as const;

/** Further cost of a round that adds to a list or a map. */
const appendCost = 11;

/** A round: binds the variables to the next entry, and returns the value of the body. */
interface Fold {
  readonly filter: Run | undefined;
  readonly body: Run;
  /** Calls `visit` for each entry until it returns false. */
  readonly each: (frame: Frame, visit: () => boolean) => void;
  readonly key: (frame: Frame) => CelValue;
  readonly first: (frame: Frame) => CelValue;
}

/** Compiles a macro over a list or a map. */
export function compileFold(node: FoldNode, compiler: FoldCompiler): Run {
  const range = compiler.compile(node.range);
  return compiler.within(node.variables, (slots) => {
    const [first = 0, second] = slots;
    const fold: Fold = {
      filter: node.filter === undefined ? undefined : compiler.compile(node.filter),
      body: compiler.compile(node.body),
      each: second === undefined ? eachSingle(range, first) : eachPair(range, first, second),
      key: ({ slots: values }) => values[first] ?? null,
      first: ({ slots: values }) => values[first] ?? null,
    };
    return runOf(node, fold);
  });
}

function runOf({ macro }: FoldNode, fold: Fold): Run {
  switch (macro) {
    case 'all':
      return quantifier(fold, false, roundCosts.all);
    case 'exists':
      return quantifier(fold, true, roundCosts.exists);
    case 'existsOne':
      return existsOne(fold);
    case 'filter':
      return collect({ ...fold, filter: fold.body, body: fold.first });
    case 'map':
    case 'transformList':
      return collect(fold);
    case 'transformMap':
      return collectMap(fold, (map, frame) => insert(map, fold.key(frame), fold.body(frame)));
    case 'transformMapEntry':
      return collectMap(fold, (map, frame) => insertAll(map, fold.body(frame)));
  }
}

function eachSingle(range: Run, slot: number): Fold['each'] {
  return (frame, visit) => {
    const { slots } = frame;
    const values = range(frame);
    if (values instanceof CelList) {
      for (let index = 0; index < values.length; index += 1) {
        slots[slot] = values.at(index);
        if (!visit()) return;
      }
    } else if (values instanceof CelMap) {
      frame.meter.add(values.size / 4);
      for (const key of values.keys()) {
        slots[slot] = key;
        if (!visit()) return;
      }
    } else throw noSuchOverload();
  };
}

function eachPair(range: Run, first: number, second: number): Fold['each'] {
  return (frame, visit) => {
    const { slots } = frame;
    const values = range(frame);
    if (values instanceof CelList) {
      for (let index = 0; index < values.length; index += 1) {
        slots[first] = BigInt(index);
        slots[second] = values.at(index);
        if (!visit()) return;
      }
    } else if (values instanceof CelMap) {
      frame.meter.add(values.size / 4);
      for (const key of values.keys()) {
        slots[first] = key;
        slots[second] = values.get(key);
        if (!visit()) return;
      }
    } else throw noSuchOverload();
  };
}

/** `all` (false decides) and `exists` (true decides): errors count only when no entry decides. */
function quantifier({ body, each }: Fold, deciding: boolean, cost: number): Run {
  return (frame) => {
    let failure: CelError | undefined;
    let isDecided = false;
    frame.meter.add(1);
    each(frame, () => {
      frame.meter.add(cost);
      try {
        const value = body(frame);
        if (value === deciding) isDecided = true;
        else if (typeof value !== 'boolean') failure ??= noSuchOverload();
      } catch (error) {
        failure ??= ignorable(error, frame);
      }
      return !isDecided;
    });
    if (isDecided) return deciding;
    if (failure !== undefined) throw failure;
    return !deciding;
  };
}

function existsOne({ body, each }: Fold): Run {
  return (frame) => {
    let found = 0;
    frame.meter.add(2);
    each(frame, () => {
      frame.meter.add(roundCosts.existsOne);
      if (isTrue(body(frame))) found += 1;
      return true;
    });
    return found === 1;
  };
}

function collect({ filter, body, each }: Fold): Run {
  return (frame) => {
    const items: CelValue[] = [];
    frame.meter.add(appendCost);
    each(frame, () => {
      frame.meter.add(roundCosts.map);
      if (filter === undefined || isTrue(filter(frame))) {
        frame.meter.add(appendCost);
        items.push(body(frame));
      }
      return true;
    });
    return new ArrayList(items);
  };
}

function collectMap({ filter, each }: Fold, add: (map: EntryMap, frame: Frame) => void): Run {
  return (frame) => {
    const map = new EntryMap();
    frame.meter.add(appendCost);
    each(frame, () => {
      frame.meter.add(roundCosts.other);
      if (filter === undefined || isTrue(filter(frame))) {
        frame.meter.add(appendCost);
        add(map, frame);
      }
      return true;
    });
    return map;
  };
}

function insert(map: EntryMap, key: CelValue, value: CelValue): void {
  if (!map.add(key, value))
    throw new CelError(`insert failed: key ${typeof key === 'string' ? key : ''} already exists`);
}

function insertAll(map: EntryMap, entries: CelValue): void {
  if (!(entries instanceof CelMap)) throw noSuchOverload();
  for (const key of entries.keys()) insert(map, key, entries.get(key) ?? null);
}

function isTrue(value: CelValue): boolean {
  if (typeof value === 'boolean') return value;
  throw noSuchOverload();
}
