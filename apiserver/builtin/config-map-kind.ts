import { defineModel } from '@homeostat/controller-runtime/api';
import type { FieldViolation, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { KindStrategy } from '../registry/rules/kind-strategy.ts';
import {
  base64Violations,
  completing,
  decodedLength,
  immutableViolations,
  keyViolations,
  maxDataBytes,
  readValues,
} from './stored-data.ts';
import type { DataObject } from './stored-data.ts';

const gvk = { kind: 'ConfigMap', version: 'v1' } as const;

/** `v1 ConfigMap`. Its columns are in views/data-columns.ts. */
export const configMapKind: ModelDescriptor = defineModel({
  gvk: 'v1/ConfigMap',
  plural: 'configmaps',
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  shortNames: ['cm'],
  schema: {
    type: 'object',
    description: 'ConfigMap holds configuration data that programs read.',
    properties: {
      data: {
        type: 'object',
        nullable: true,
        description: 'The values. Keys have letters, digits, "-", "_" and "."; binaryData must not have the same keys.',
        additionalProperties: { type: 'string' },
      },
      binaryData: {
        type: 'object',
        nullable: true,
        description: 'Values that are not UTF-8, in base64.',
        additionalProperties: { type: 'string' },
      },
      immutable: { type: 'boolean', nullable: true, description: 'If true, the values can never be changed.' },
    },
  },
  validate: (next, previous) => configMapViolations(next, previous),
});

export const configMapStrategy: KindStrategy = completing((object: DataObject) => {
  const fields: { -readonly [Field in keyof DataObject]: DataObject[Field] } = { ...object };
  for (const field of ['data', 'binaryData'] as const) {
    const values = readValues(object[field], { model: gvk, field, areBytes: field === 'binaryData' });
    if (values === undefined) delete fields[field];
    else fields[field] = values;
  }
  return fields;
});

function configMapViolations(next: DataObject, previous: DataObject | undefined): readonly FieldViolation[] {
  const { data, binaryData } = next;
  const duplicates = Object.keys(data ?? {}).filter((key) => Object.hasOwn(binaryData ?? {}, key));
  let bytes = 0;
  for (const value of Object.values(data ?? {})) bytes += Buffer.byteLength(value);
  for (const value of Object.values(binaryData ?? {})) bytes += decodedLength(value);
  const tooLong: FieldViolation = {
    field: '[]',
    message: `Too long: may not be more than ${maxDataBytes} bytes`,
    reason: 'FieldValueTooLong',
  };
  return [
    ...keyViolations('data', data),
    ...duplicates.map((key) => ({
      field: `data[${key}]`,
      message: `Invalid value: ${JSON.stringify(key)}: duplicate of key present in binaryData`,
    })),
    ...keyViolations('binaryData', binaryData),
    ...base64Violations('binaryData', binaryData),
    ...(bytes > maxDataBytes ? [tooLong] : []),
    ...immutableViolations(next, previous, ['data', 'binaryData']),
  ];
}
