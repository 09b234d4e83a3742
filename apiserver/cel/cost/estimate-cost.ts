import type { CheckedCel } from '../check/checker.ts';
import type { CelType } from '../types/cel-type.ts';
import { accumulatorName } from '../syntax/cel-node.ts';
import type { BindNode, CallNode, CelNode, FoldNode, ListNode } from '../syntax/cel-node.ts';
import { anySize, fixed, noCost, plus, times, rangeUnion } from './cost-range.ts';
import type { CostRange } from './cost-range.ts';
import { estimateCall } from './estimate-call.ts';
import type { SizedPart } from './estimate-call.ts';

const readCost = fixed(1);
const listCost = fixed(10);
const mapCost = fixed(30);

/** The known bounds of the size of a local variable's value. */
interface Local {
  readonly size: CostRange | undefined;
  readonly itemSize: CostRange | undefined;
}

/**
 * Estimates the cost of an expression before it runs, by the rules of Kubernetes. The estimate assumes the largest
 * sizes that the schema allows. A loop costs as much as its body, multiplied by the largest size of its range.
 */
export function estimateCost(root: CelNode, checked: CheckedCel): CostRange {
  return new Estimator(checked).cost(root);
}

class Estimator {
  readonly #checked: CheckedCel;
  readonly #sizes = new Map<CelNode, CostRange>();
  readonly #itemSizes = new Map<CelNode, CostRange>();
  readonly #locals = new Map<string, Local[]>();

  constructor(checked: CheckedCel) {
    this.#checked = checked;
  }

  cost(node: CelNode): CostRange {
    switch (node.kind) {
      case 'literal':
        return noCost;
      case 'ident':
        return readCost;
      case 'select':
        return this.#select(node);
      case 'call':
        return this.#call(node);
      case 'list':
        return this.#list(node);
      case 'map':
        return plus(...node.entries.flatMap(({ key, value }) => [this.cost(key), this.cost(value)]), mapCost);
      case 'fold':
        return this.#fold(node);
      case 'bind':
        return this.#bind(node);
    }
  }

  #select({ operand, isTest }: CelNode & { readonly kind: 'select' }): CostRange {
    const inner = this.cost(operand);
    if (isTest) return inner;
    const { kind } = this.#checked.typeOf(operand);
    return kind === 'map' || kind === 'object' ? plus(inner, readCost) : inner;
  }

  #list(node: ListNode): CostRange {
    const costs = node.items.map((item) => this.cost(item));
    const sizes = node.items.map((item) => this.#size(item));
    this.#itemSizes.set(node, sizes.length === 0 ? noCost : sizes.reduce(rangeUnion));
    return plus(...costs, listCost);
  }

  #call(node: CallNode): CostRange {
    const { name, args, target } = node;
    const overloads = this.#checked.overloadsOf(node);
    const hasTarget = target !== undefined && (overloads[0]?.args.length ?? args.length + 1) > args.length;
    const operands = hasTarget ? [target, ...args] : args;
    const costs = operands.map((operand) => this.cost(operand));
    const [first = noCost, second = noCost, third = noCost] = costs;
    if (name === '_&&_' || name === '_||_') return { min: first.min, max: plus(first, second).max };
    if (name === '_?_:_') {
      const [, then, otherwise] = args;
      if (then !== undefined && otherwise !== undefined)
        this.#sizes.set(node, rangeUnion(this.#size(then), this.#size(otherwise)));
      return plus(first, rangeUnion(second, third));
    }
    const { cost, size } = estimateCall(
      overloads[0]?.name ?? name,
      operands.map((operand) => this.#part(operand)),
    );
    const [from] = operands;
    if (name === '_[_]' && from !== undefined) this.#noteItem(node, from);
    else if (size !== undefined) this.#sizes.set(node, size);
    if (name === '_+_') this.#noteJoined(node, operands);
    if (name === 'dyn' && from !== undefined) this.#sizes.set(node, this.#size(from));
    return plus(cost, ...costs);
  }

  #noteItem(node: CallNode, from: CelNode): void {
    const known = this.#itemSize(from);
    if (known !== undefined) this.#sizes.set(node, known);
  }

  #noteJoined(node: CallNode, operands: readonly CelNode[]): void {
    const [left, right] = operands.map((operand) => this.#itemSize(operand));
    if (left !== undefined && right !== undefined) this.#itemSizes.set(node, rangeUnion(left, right));
  }

  #fold(node: FoldNode): CostRange {
    const { range, variables, loop } = node;
    const outside = plus(this.cost(range), this.cost(loop.init));
    const rangeSize = this.#size(range);
    const itemSize = this.#itemSize(range);
    const isMap = this.#checked.typeOf(range).kind === 'map';
    const sizes: readonly Local[] =
      variables.length === 1
        ? [{ size: isMap ? undefined : itemSize, itemSize: undefined }]
        : [
            { size: isMap ? undefined : fixed(1), itemSize: undefined },
            { size: itemSize, itemSize: undefined },
          ];
    const inner = this.#within(
      accumulatorName,
      { size: this.#size(loop.init), itemSize: this.#itemSize(loop.init) },
      () => {
        const round = this.#withinAll(variables, sizes, () => plus(this.cost(loop.condition), this.cost(loop.step)));
        return plus(this.cost(loop.result), times(rangeSize, round));
      },
    );
    if (loop.init.kind === 'literal') this.#sizes.set(node, fixed(1));
    else this.#sizes.set(node, rangeSize);
    const stepItems = this.#itemSize(loop.step);
    if (stepItems !== undefined) this.#itemSizes.set(node, stepItems);
    return plus(outside, inner);
  }

  #bind(node: BindNode): CostRange {
    const { variable, value, body } = node;
    const outside = plus(listCost, this.cost(value));
    const local = { size: this.#size(value), itemSize: this.#itemSize(value) };
    return this.#within(variable, local, () => {
      const inner = this.cost(body);
      this.#sizes.set(node, this.#size(body));
      const items = this.#itemSize(body);
      if (items !== undefined) this.#itemSizes.set(node, items);
      return plus(outside, inner);
    });
  }

  #part(node: CelNode): SizedPart {
    const literal = node.kind === 'literal' && typeof node.value === 'bigint' ? Number(node.value) : undefined;
    return {
      type: this.#checked.typeOf(node),
      size: this.#size(node),
      literal,
      itemSize: this.#itemSize(node) ?? anySize,
    };
  }

  #size(node: CelNode): CostRange {
    const known = this.#sizes.get(node) ?? literalSize(node);
    if (known !== undefined) return known;
    const local = node.kind === 'ident' ? this.#locals.get(node.name)?.at(-1)?.size : undefined;
    return sizeOfType(this.#checked.typeOf(node)) ?? local ?? anySize;
  }

  #itemSize(node: CelNode): CostRange | undefined {
    const known = this.#itemSizes.get(node);
    if (known !== undefined) return known;
    const local = node.kind === 'ident' ? this.#locals.get(node.name)?.at(-1)?.itemSize : undefined;
    if (local !== undefined) return local;
    const type = this.#checked.typeOf(node);
    if (type.kind === 'list') return sizeOfType(type.item);
    return type.kind === 'map' ? sizeOfType(type.value) : undefined;
  }

  #within<R>(name: string, local: Local, estimate: () => R): R {
    return this.#withinAll([name], [local], estimate);
  }

  #withinAll<R>(names: readonly string[], locals: readonly Local[], estimate: () => R): R {
    for (const [index, name] of names.entries()) {
      const local = locals[index] ?? { size: undefined, itemSize: undefined };
      const stack = this.#locals.get(name);
      if (stack === undefined) this.#locals.set(name, [local]);
      else stack.push(local);
    }
    const result = estimate();
    for (const name of names) this.#locals.get(name)?.pop();
    return result;
  }
}

function literalSize(node: CelNode): CostRange | undefined {
  switch (node.kind) {
    case 'literal': {
      const { value } = node;
      if (typeof value === 'string') return fixed(Array.from(value).length);
      return fixed(value instanceof Uint8Array ? value.length : 1);
    }
    case 'list':
      return fixed(node.items.length);
    case 'map':
      return fixed(node.entries.length);
    default:
      return undefined;
  }
}

const sizeless: ReadonlySet<CelType['kind']> = new Set(['bool', 'double', 'duration', 'int', 'timestamp', 'uint']);

function sizeOfType(type: CelType): CostRange | undefined {
  if ('maxSize' in type && type.maxSize !== undefined) return { min: 0, max: type.maxSize };
  if (type.kind === 'object') return noCost;
  if (type.kind === 'opaque' && type.name === 'optional_type') return sizeOfOptional(type.params[0]);
  return sizeless.has(type.kind) ? fixed(1) : undefined;
}

function sizeOfOptional(inner: CelType | undefined): CostRange | undefined {
  return inner !== undefined && sizeless.has(inner.kind) ? fixed(1) : undefined;
}
