/**
 * A type of CEL. An `object` has named fields. An expression cannot compute the name of a field that it reads, but it
 * can compute a key of a map. An `opaque` type is a type that a library defines, identified by its name.
 */
export type CelType =
  | ScalarType
  | { readonly kind: 'list'; readonly item: CelType; readonly maxSize?: number }
  | { readonly kind: 'map'; readonly key: CelType; readonly value: CelType; readonly maxSize?: number }
  | ObjectType
  | { readonly kind: 'opaque'; readonly name: string; readonly params: readonly CelType[] }
  | { readonly kind: 'type'; readonly of: CelType }
  | { readonly kind: 'param'; readonly name: string };

export type ScalarKind =
  'bool' | 'bytes' | 'double' | 'duration' | 'dyn' | 'error' | 'int' | 'null' | 'string' | 'timestamp' | 'uint';

export interface ScalarType {
  readonly kind: ScalarKind;
  /**
   * The maximum number of characters or bytes of a value with a schema; 0 for a value without a size. undefined for a
   * value without a schema.
   */
  readonly maxSize?: number;
}

export interface ObjectType {
  readonly kind: 'object';
  readonly name: string;
  /** Returns the type of a field, by its escaped name; undefined when expressions cannot read the field. */
  readonly field: (name: string) => CelType | undefined;
}

export const celTypes: Readonly<Record<ScalarKind, ScalarType>> = {
  bool: { kind: 'bool' },
  bytes: { kind: 'bytes' },
  double: { kind: 'double' },
  duration: { kind: 'duration' },
  dyn: { kind: 'dyn' },
  error: { kind: 'error' },
  int: { kind: 'int' },
  null: { kind: 'null' },
  string: { kind: 'string' },
  timestamp: { kind: 'timestamp' },
  uint: { kind: 'uint' },
};

export function listOf(item: CelType): CelType {
  return { kind: 'list', item };
}

export function mapOf(key: CelType, value: CelType): CelType {
  return { kind: 'map', key, value };
}

export function optionalOf(value: CelType): CelType {
  return { kind: 'opaque', name: 'optional_type', params: [value] };
}

/** Returns the type of the value in an optional; undefined for a type that is not an optional. */
export function insideOptional(type: CelType): CelType | undefined {
  return type.kind === 'opaque' && type.name === 'optional_type' ? type.params[0] : undefined;
}

/** Prints a type as kube-apiserver does. */
export function formatType(type: CelType): string {
  switch (type.kind) {
    case 'list':
      return `list(${formatType(type.item)})`;
    case 'map':
      return `map(${formatType(type.key)}, ${formatType(type.value)})`;
    case 'object':
      return type.name;
    case 'opaque':
      return type.params.length === 0 ? type.name : `${type.name}(${type.params.map(formatType).join(', ')})`;
    case 'type':
      return `type(${formatType(type.of)})`;
    case 'param':
      return type.name.replace(/\d+$/, '');
    case 'error':
      return '!error!';
    default:
      return type.kind;
  }
}
