import type { CelLiteral } from '../syntax/cel-node.ts';
import { celTypes } from '../types/cel-type.ts';
import type { CelType } from '../types/cel-type.ts';

export function literalType(value: CelLiteral): CelType {
  switch (typeof value) {
    case 'boolean':
      return celTypes.bool;
    case 'bigint':
      return celTypes.int;
    case 'number':
      return celTypes.double;
    case 'string':
      return celTypes.string;
    default:
      if (value === null) return celTypes.null;
      return value instanceof Uint8Array ? celTypes.bytes : celTypes.uint;
  }
}
