/** A literal of an expression; `uint` and `bytes` are kept apart from `int` and `string` by their form. */
export type CelLiteral = null | boolean | bigint | number | string | UintLiteral | Uint8Array;

/** An unsigned integer such as `1u`. */
interface UintLiteral {
  readonly uint: bigint;
}

interface At {
  /** Position in the source, in UTF-16 units, where messages point to. */
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

/** A call of a function, a method or an operator, which is named as in `_+_`. */
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
 * A macro over a list or a map. It is kept in two forms: as the loop that CEL defines, which is checked and whose cost is
 * estimated, and as its parts, which are evaluated.
 */
export interface FoldNode extends At {
  readonly kind: 'fold';
  readonly macro: FoldMacro;
  readonly range: CelNode;
  readonly variables: readonly string[];
  /** Decides which entries `map`, `transformList` and so on take; undefined when they take all. */
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

/** Gives a value a name within a body. `optMap` names the value of an optional, and `sortBy` names its list. */
export interface BindNode extends At {
  readonly kind: 'bind';
  readonly variable: string;
  readonly value: CelNode;
  readonly body: CelNode;
}

export type CelNode = LiteralNode | IdentNode | SelectNode | CallNode | ListNode | MapNode | FoldNode | BindNode;

/** The name of the accumulator of a loop; no identifier can have it. */
export const accumulatorName = '@result';
