import { defineModel } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';

/** The kind of the objects in all histories. Its spec has only the field `value`. */
export const Cell: ModelDescriptor = defineModel({
  gvk: 'history.example.com/v1/Cell',
  plural: 'cells',
  singular: 'cell',
  schema: {
    type: 'object',
    required: ['spec'],
    properties: { spec: { type: 'object', required: ['value'], properties: { value: { type: 'string' } } } },
  },
});

export const cellsPath = '/apis/history.example.com/v1/cells';

/** Returns a cell as a client sends it. */
export function cell(name: string, value: string, metadata: object = {}): object {
  return { apiVersion: 'history.example.com/v1', kind: 'Cell', metadata: { name, ...metadata }, spec: { value } };
}
