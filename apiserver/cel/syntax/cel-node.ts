/** The value of a literal. Its JavaScript type distinguishes `uint` from `int`, and `bytes` from `string`. */
export type CelLiteral = null | boolean | bigint | number | string | UintLiteral | Uint8Array;

/** An unsigned integer such as `1u`. */
interface UintLiteral {
  readonly uint: bigint;
}

interface At {
  /** The position in the source to which messages point, in UTF-16 units. */
  readonly at: number;
}

interface LiteralNode extends At {
  readonly kind: 'literal';
  readonly value: CelLiteral;
}

export interface IdentNode extends At {
  readonly kind: 'ident';
  readonly name: string;
}

export interface SelectNode extends At {
  readonly kind: 'select';
  readonly operand: CelNode;
  readonly field: string;
  /** True for `has(a.b)`. */
  readonly isTest: boolean;
}

/** A call of a function, a method or an operator. Operators have names such as `_+_`. */
export interface CallNode extends At {
  readonly kind: 'call';
  readonly name: string;
  readonly target: CelNode | undefined;
  readonly args: readonly CelNode[];
}

export interface ListNode extends At {
  readonly kind: 'list';
  readonly items: readonly CelNode[];
  /** Indexes of the items that are marked with `?`. */
  readonly optional: ReadonlySet<number>;
}

export interface MapEntryNode extends At {
  readonly key: CelNode;
  readonly value: CelNode;
  readonly isOptional: boolean;
}

export interface MapNode extends At {
  readonly kind: 'map';
  readonly entries: readonly MapEntryNode[];
}

export type FoldMacro =
  'all' | 'exists' | 'existsOne' | 'map' | 'filter' | 'transformList' | 'transformMap' | 'transformMapEntry';

/**
 * A macro that loops over a list or a map. The type check and the estimate of the cost use `loop`, the loop that CEL
 * defines for the macro. The evaluation uses the other fields.
 */
export interface FoldNode extends At {
  readonly kind: 'fold';
  readonly macro: FoldMacro;
  readonly range: CelNode;
  readonly variables: readonly string[];
  /** The condition for the entries that macros such as `map` and `transformList` use; undefined when they use all. */
  readonly filter: CelNode | undefined;
  readonly body: CelNode;
  readonly loop: Loop;
}

interface Loop {
  readonly accumulator: string;
  readonly init: CelNode;
  readonly condition: CelNode;
  readonly step: CelNode;
  readonly result: CelNode;
}

/**
 * Gives a name to a value within a body. The macros `optMap` and `optFlatMap` use it for the value of an optional, and
 * `sortBy` for its list.
 */
export interface BindNode extends At {
  readonly kind: 'bind';
  readonly variable: string;
  readonly value: CelNode;
  readonly body: CelNode;
}

export type CelNode = LiteralNode | IdentNode | SelectNode | CallNode | ListNode | MapNode | FoldNode | BindNode;

/** The name of the accumulator of a loop; no identifier can have it. */
export const accumulatorName = '@result';
