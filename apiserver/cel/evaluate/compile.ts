import { qualifiedName } from '../check/checker.ts';
import type { CheckedCel } from '../check/checker.ts';
import type { Overload } from '../types/cel-function.ts';
import type { CelType } from '../types/cel-type.ts';
import { runtimeCost } from '../cost/runtime-cost.ts';
import type { RuntimeCost } from '../cost/runtime-cost.ts';
import type { CallNode, CelLiteral, CelNode, IdentNode, ListNode, MapNode, SelectNode } from '../syntax/cel-node.ts';
import { CelError, noSuchKey, noSuchOverload } from '../values/cel-error.ts';
import { ArrayList, CelBytes, CelMap, CelOptional, CelUint, EntryMap } from '../values/cel-value.ts';
import type { CelValue, NamedField } from '../values/cel-value.ts';
import { compileFold } from './compile-fold.ts';
import { compilePair } from './compile-pair.ts';
import { fail, ignorable } from './frame.ts';
import type { Run } from './frame.ts';
import { fits } from '../types/fits.ts';
import { readIndex } from '../values/read-index.ts';

/** The costs that Kubernetes has for parts of an expression that are not calls. */
const readCost = 1;
const listCost = 10;
const mapCost = 30;

/** Compiles a checked expression to nested JavaScript functions. */
export class Compiler {
  readonly #checked: CheckedCel;
  readonly #constants: ReadonlyMap<string, CelValue>;
  readonly #slots = new Map<string, number[]>();
  #count: number;

  /** Creates a compiler. Frames have the values of `variables` in their first slots, in this order. */
  constructor(checked: CheckedCel, variables: readonly string[], constants: ReadonlyMap<string, CelValue>) {
    this.#checked = checked;
    this.#constants = constants;
    this.#count = variables.length;
    for (const [slot, name] of variables.entries()) this.#slots.set(name, [slot]);
  }

  /** The number of slots that a frame needs for all that has been compiled so far. */
  get slots(): number {
    return this.#count;
  }

  compile(node: CelNode): Run {
    switch (node.kind) {
      case 'literal': {
        const value = valueOfLiteral(node.value);
        return () => value;
      }
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
        return compileFold(node, this);
      case 'bind': {
        const value = this.compile(node.value);
        return this.within([node.variable], ([slot = 0]) => {
          const body = this.compile(node.body);
          return (frame) => {
            frame.slots[slot] = value(frame);
            frame.meter.add(listCost);
            return body(frame);
          };
        });
      }
    }
  }

  /**
   * Declares the variables `names`, calls `compile`, and then removes the declarations. `compile` receives the slot of
   * each variable: its position in the list from which an evaluation reads the values of variables.
   */
  within<R>(names: readonly string[], compile: (slots: readonly number[]) => R): R {
    const slots = names.map((name) => {
      const slot = this.#count;
      this.#count += 1;
      const stack = this.#slots.get(name);
      if (stack === undefined) this.#slots.set(name, [slot]);
      else stack.push(slot);
      return slot;
    });
    const result = compile(slots);
    for (const name of names) this.#slots.get(name)?.pop();
    return result;
  }

  #ident({ name }: IdentNode): Run {
    const plain = name.replace(/^\./, '');
    const slot = this.#slots.get(plain)?.at(name === plain ? -1 : 0);
    const constant = this.#constants.get(plain);
    if (slot === undefined)
      return constant === undefined ? () => fail(new CelError(`no such attribute: ${plain}`)) : () => constant;
    return ({ slots, meter }) => {
      meter.add(readCost);
      const value = slots[slot];
      if (value === undefined) throw new CelError(`no such attribute(s): ${plain}`);
      return value;
    };
  }

  #select(node: SelectNode): Run {
    const { field, isTest, at } = node;
    const name = qualifiedName(node)?.name ?? '';
    const constant = this.#constants.get(name);
    if (constant !== undefined) return () => constant;
    if (this.#slots.has(name)) return this.#ident({ kind: 'ident', name, at });
    const operand = this.compile(node.operand);
    if (isTest)
      return (frame) => {
        const target = unwrapped(operand(frame));
        return target instanceof CelMap
          ? target.get(field) !== undefined
          : target === undefined
            ? false
            : fail(noSuchOverload());
      };
    const named: NamedField = { name: field, schema: undefined, index: 0 };
    return (frame) => {
      const target = operand(frame);
      frame.meter.add(readCost);
      if (!(target instanceof CelMap))
        return target instanceof CelOptional ? optionalField(target, field) : fail(noSuchOverload());
      const value = target.read(named);
      return value === undefined ? fail(noSuchKey(field)) : value;
    };
  }

  #call(node: CallNode): Run {
    const special = this.#operator(node);
    if (special !== undefined) return special;
    const overloads = this.#checked.overloadsOf(node);
    const [first] = overloads;
    const hasTarget = node.target !== undefined && first !== undefined && first.args.length > node.args.length;
    const argNodes = hasTarget && node.target !== undefined ? [node.target, ...node.args] : node.args;
    const args = argNodes.map((arg) => this.compile(arg));
    const cost = runtimeCost(first?.name ?? node.name);
    const isKnown = overloads.length === 1 && argNodes.every((arg) => isStatic(this.#checked.typeOf(arg)));
    if (isKnown && first !== undefined) return directCall(first, args, cost);
    return (frame) => {
      const values = args.map((arg) => arg(frame));
      frame.meter.add(cost(values));
      const found = overloads.find((each) => each.args.every((type, index) => fits(values[index] ?? null, type)));
      return found === undefined ? fail(noSuchOverload()) : found.run(values, frame.meter);
    };
  }

  #operator({ name, args }: CallNode): Run | undefined {
    const [first, second, third] = args;
    if (first === undefined || second === undefined) return undefined;
    switch (name) {
      case '_&&_':
        return logical(this.compile(first), this.compile(second), false);
      case '_||_':
        return logical(this.compile(first), this.compile(second), true);
      case '_?_:_':
        return third === undefined ? undefined : this.#conditional(first, second, third);
      case '_[_]':
      case '_[?_]':
      case '_?._': {
        const [target, index] = [this.compile(first), this.compile(second)];
        const isOptional = name !== '_[_]';
        return (frame) => {
          const from = target(frame);
          const at = index(frame);
          frame.meter.add(readCost);
          return readIndex(from, at, isOptional);
        };
      }
      default:
        return undefined;
    }
  }

  #conditional(condition: CelNode, then: CelNode, otherwise: CelNode): Run {
    const [decide, first, second] = [this.compile(condition), this.compile(then), this.compile(otherwise)];
    return (frame) => {
      const decision = decide(frame);
      if (typeof decision !== 'boolean') throw noSuchOverload();
      return decision ? first(frame) : second(frame);
    };
  }

  #list({ items, optional }: ListNode): Run {
    const runs = items.map((item) => this.compile(item));
    return (frame) => {
      frame.meter.add(listCost);
      const values: CelValue[] = [];
      for (const [index, run] of runs.entries()) {
        const value = run(frame);
        if (!optional.has(index)) values.push(value);
        else if (!(value instanceof CelOptional)) throw noSuchOverload();
        else if (value.value !== undefined) values.push(value.value);
      }
      return new ArrayList(values);
    };
  }

  #map({ entries }: MapNode): Run {
    const runs = entries.map((entry) => ({ ...entry, key: this.compile(entry.key), value: this.compile(entry.value) }));
    return (frame) => {
      frame.meter.add(mapCost);
      const map = new EntryMap();
      for (const entry of runs) {
        const key = entry.key(frame);
        let value: CelValue | undefined = entry.value(frame);
        if (entry.isOptional) {
          if (!(value instanceof CelOptional)) throw noSuchOverload();
          value = value.value;
        }
        if (value !== undefined && !map.add(key, value)) throw new CelError('Failed with repeated key');
      }
      return map;
    };
  }
}

function directCall({ name, run }: Overload, args: readonly Run[], cost: RuntimeCost): Run {
  const [left, right] = args;
  if (args.length === 2 && left !== undefined && right !== undefined)
    return compilePair({ name, left, right, cost, run });
  return (frame) => {
    const values = args.map((arg) => arg(frame));
    frame.meter.add(cost(values));
    return run(values, frame.meter);
  };
}

/** Compiles `&&` and `||`. An error of one side counts only when the other side does not decide. */
function logical(first: Run, second: Run, deciding: boolean): Run {
  return (frame) => {
    let failure: CelError | undefined;
    try {
      const value = first(frame);
      if (value === deciding) return deciding;
      if (typeof value !== 'boolean') failure = noSuchOverload();
    } catch (error) {
      failure = ignorable(error, frame);
    }
    const value = second(frame);
    if (value === deciding) return deciding;
    if (failure !== undefined) throw failure;
    return typeof value === 'boolean' ? value : fail(noSuchOverload());
  };
}

function isStatic(type: CelType): boolean {
  return type.kind !== 'dyn' && type.kind !== 'param' && type.kind !== 'error';
}

function unwrapped(value: CelValue): CelValue | undefined {
  return value instanceof CelOptional ? value.value : value;
}

function optionalField({ value }: CelOptional, field: string): CelValue {
  if (value === undefined) return CelOptional.none;
  return value instanceof CelMap ? new CelOptional(value.get(field)) : fail(noSuchOverload());
}

function valueOfLiteral(value: CelLiteral): CelValue {
  if (typeof value !== 'object' || value === null) return value;
  return value instanceof Uint8Array ? new CelBytes(value) : new CelUint(value.uint);
}
