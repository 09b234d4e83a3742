import type { CelNode, FoldNode } from '../syntax/cel-node.ts';
import { CelError, noSuchOverload } from '../values/cel-error.ts';
import { ArrayList, CelList, CelMap, EntryMap } from '../values/cel-value.ts';
import type { CelValue } from '../values/cel-value.ts';
import { ignorable } from './frame.ts';
import type { Frame, Run } from './frame.ts';

/** The part of the compiler that the compilation of macros needs. */
interface FoldCompiler {
  compile(node: CelNode): Run;
  within<R>(names: readonly string[], compile: (slots: readonly number[]) => R): R;
}

/** The costs of one round of a loop, as CEL defines them, without the costs of the author's own expressions. */
const roundCosts = { all: 3, exists: 4, existsOne: 1, filter: 1, map: 1, other: 1 } as const;

/** The cost to create a list or a map, and the additional cost of a round that appends to it. */
const appendCost = 11;

interface Fold {
  readonly filter: Run | undefined;
  readonly body: Run;
  readonly open: (frame: Frame) => Entries;
  readonly key: (frame: Frame) => CelValue;
  readonly first: (frame: Frame) => CelValue;
}

/** The items of a list, or the entries of a map, in order. */
interface Entries {
  readonly size: number;
  /** Assigns an item or entry to the variables of the macro. */
  bind(frame: Frame, index: number): void;
}

/** Compiles a macro that loops over a list or a map, such as `all` or `filter`. */
export function compileFold(node: FoldNode, compiler: FoldCompiler): Run {
  const range = compiler.compile(node.range);
  return compiler.within(node.variables, (slots) => {
    const [first = 0, second] = slots;
    const fold: Fold = {
      filter: node.filter === undefined ? undefined : compiler.compile(node.filter),
      body: compiler.compile(node.body),
      open: opener(range, first, second),
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

/**
 * Returns a function that evaluates `range`, which is the list or the map that the macro loops over, and returns its
 * entries. If the macro has only one variable, this variable is the item of a list, or the key of a map.
 */
function opener(range: Run, first: number, second: number | undefined): Fold['open'] {
  return (frame) => {
    const values = range(frame);
    if (values instanceof CelList) return new ListEntries(values, first, second);
    if (!(values instanceof CelMap)) throw noSuchOverload();
    frame.meter.add(values.size / 4);
    return new MapEntries(values, first, second);
  };
}

class ListEntries implements Entries {
  readonly size: number;
  readonly #values: CelList;
  readonly #first: number;
  readonly #second: number | undefined;

  constructor(values: CelList, first: number, second: number | undefined) {
    this.size = values.length;
    this.#values = values;
    this.#first = first;
    this.#second = second;
  }

  bind({ slots }: Frame, index: number): void {
    const value = this.#values.at(index);
    if (this.#second === undefined) slots[this.#first] = value;
    else {
      slots[this.#first] = BigInt(index);
      slots[this.#second] = value;
    }
  }
}

class MapEntries implements Entries {
  readonly size: number;
  readonly #values: CelMap;
  readonly #keys: readonly CelValue[];
  readonly #first: number;
  readonly #second: number | undefined;

  constructor(values: CelMap, first: number, second: number | undefined) {
    this.#keys = values.keys();
    this.size = this.#keys.length;
    this.#values = values;
    this.#first = first;
    this.#second = second;
  }

  bind({ slots }: Frame, index: number): void {
    const key = this.#keys[index] ?? null;
    slots[this.#first] = key;
    if (this.#second !== undefined) slots[this.#second] = this.#values.get(key);
  }
}

/**
 * Compiles `all`, where a false entry decides, and `exists`, where a true entry decides. Errors count only when no
 * entry decides.
 */
function quantifier({ body, open }: Fold, deciding: boolean, cost: number): Run {
  return (frame) => {
    let failure: CelError | undefined;
    frame.meter.add(1);
    const entries = open(frame);
    for (let index = 0; index < entries.size; index += 1) {
      entries.bind(frame, index);
      frame.meter.add(cost);
      try {
        const value = body(frame);
        if (value === deciding) return deciding;
        if (typeof value !== 'boolean') failure ??= noSuchOverload();
      } catch (error) {
        failure ??= ignorable(error, frame);
      }
    }
    if (failure !== undefined) throw failure;
    return !deciding;
  };
}

function existsOne({ body, open }: Fold): Run {
  return (frame) => {
    let found = 0;
    frame.meter.add(2);
    const entries = open(frame);
    for (let index = 0; index < entries.size; index += 1) {
      entries.bind(frame, index);
      frame.meter.add(roundCosts.existsOne);
      if (isTrue(body(frame))) found += 1;
    }
    return found === 1;
  };
}

function collect({ filter, body, open }: Fold): Run {
  return (frame) => {
    const items: CelValue[] = [];
    frame.meter.add(appendCost);
    const entries = open(frame);
    for (let index = 0; index < entries.size; index += 1) {
      entries.bind(frame, index);
      frame.meter.add(roundCosts.map);
      if (filter !== undefined && !isTrue(filter(frame))) continue;
      frame.meter.add(appendCost);
      items.push(body(frame));
    }
    return new ArrayList(items);
  };
}

function collectMap({ filter, open }: Fold, add: (map: EntryMap, frame: Frame) => void): Run {
  return (frame) => {
    const map = new EntryMap();
    frame.meter.add(appendCost);
    const entries = open(frame);
    for (let index = 0; index < entries.size; index += 1) {
      entries.bind(frame, index);
      frame.meter.add(roundCosts.other);
      if (filter !== undefined && !isTrue(filter(frame))) continue;
      frame.meter.add(appendCost);
      add(map, frame);
    }
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
