import { defineModel } from '@homeostat/controller-runtime/api';
import type { JsonSchema, ModelDescriptor } from '@homeostat/controller-runtime/api';

const text: JsonSchema = { type: 'string' };

const condition: JsonSchema = {
  type: 'object',
  required: ['type', 'status'],
  properties: { type: text, status: text, reason: text, message: text },
};

/** The kind in the recorded responses of Kubernetes, with the fields that apply needs. */
export const appliedPerson: ModelDescriptor = defineModel({
  gvk: 'demo.example.com/v1alpha1/Person',
  plural: 'persons',
  singular: 'person',
  subresources: ['status'],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['name'],
        properties: {
          name: { type: 'string', maxLength: 100 },
          age: { type: 'integer', minimum: 0, maximum: 150 },
          gender: { type: 'string', enum: ['MALE', 'FEMALE'] },
          replicas: { type: 'integer', default: 1 },
          tags: { type: 'array', maxItems: 5, items: text, 'x-kubernetes-list-type': 'set' },
          otherPerson: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          ports: {
            type: 'array',
            items: {
              type: 'object',
              required: ['port'],
              properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' }, name: text },
            },
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['port', 'protocol'],
          },
          lines: { type: 'array', items: text },
          selector: { type: 'object', additionalProperties: text, 'x-kubernetes-map-type': 'atomic' },
          limits: {
            type: 'object',
            additionalProperties: { type: 'object', properties: { max: { type: 'integer' } } },
          },
        },
      },
      status: {
        type: 'object',
        properties: {
          phase: text,
          conditions: {
            type: 'array',
            items: condition,
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['type'],
          },
        },
      },
    },
  },
});

export const appliedVersion = 'demo.example.com/v1alpha1';
export const appliedPersons: string = `/apis/${appliedVersion}/persons`;
