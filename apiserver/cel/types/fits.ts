import type { CelType } from './cel-type.ts';
import {
  CelBytes,
  CelDuration,
  CelList,
  CelMap,
  CelObject,
  CelTimestamp,
  CelTypeValue,
  CelUint,
} from '../values/cel-value.ts';
import type { CelValue } from '../values/cel-value.ts';

/** True when a value may be the argument of a function that expects a type. */
export function fits(value: CelValue, type: CelType): boolean {
  switch (type.kind) {
    case 'bool':
      return typeof value === 'boolean';
    case 'int':
      return typeof value === 'bigint';
    case 'double':
      return typeof value === 'number';
    case 'string':
      return typeof value === 'string';
    case 'uint':
      return value instanceof CelUint;
    case 'bytes':
      return value instanceof CelBytes;
    case 'timestamp':
      return value instanceof CelTimestamp;
    case 'duration':
      return value instanceof CelDuration;
    case 'null':
      return value === null;
    case 'list':
      return value instanceof CelList && (value.length === 0 || fits(value.at(0), type.item));
    case 'map':
      return value instanceof CelMap;
    case 'type':
      return value instanceof CelTypeValue;
    case 'opaque':
      return value instanceof CelObject && value.typeName === type.name;
    default:
      return true;
  }
}
