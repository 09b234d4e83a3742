import { CelTypeValue } from '../values/cel-value.ts';

/** The types that expressions may use as values, by their names. */
export const typeValues: ReadonlyMap<string, CelTypeValue> = new Map(
  [
    'int',
    'uint',
    'double',
    'bool',
    'string',
    'bytes',
    'list',
    'map',
    'null_type',
    'type',
    'google.protobuf.Timestamp',
    'google.protobuf.Duration',
    'optional_type',
    'net.IP',
    'net.CIDR',
    'kubernetes.Quantity',
    'kubernetes.URL',
    'kubernetes.Semver',
  ].map((name) => [name, new CelTypeValue(name)]),
);
