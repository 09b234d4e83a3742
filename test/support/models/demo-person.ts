import { defineModel } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';

/** A kind with all features that clients show: columns, short names, categories, status, descriptions. */
export const demoPerson: ModelDescriptor = defineModel({
  gvk: 'demo.example.com/v1alpha1/Person',
  plural: 'persons',
  singular: 'person',
  shortNames: ['ps'],
  categories: ['all', 'people'],
  subresources: ['status'],
  printerColumns: [
    { name: 'Age', type: 'integer', jsonPath: '.spec.age', description: 'Age in years' },
    { name: 'Gender', type: 'string', jsonPath: '.spec.gender', priority: 1 },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Created', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  indexes: ['spec.gender'],
  schema: {
    type: 'object',
    description: 'Person is a demo kind.',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        description: 'Desired state.',
        required: ['name'],
        properties: {
          name: { type: 'string', maxLength: 100, description: 'Display name' },
          age: { type: 'integer', minimum: 0, maximum: 150 },
          gender: { type: 'string', enum: ['MALE', 'FEMALE'] },
          otherPerson: { $ref: '#' },
        },
      },
      status: {
        type: 'object',
        properties: {
          phase: { type: 'string' },
          conditions: {
            type: 'array',
            items: {
              type: 'object',
              required: ['type', 'status'],
              properties: { type: { type: 'string' }, status: { type: 'string' } },
            },
          },
        },
      },
    },
  },
});

export const demoPersons: string = '/apis/demo.example.com/v1alpha1/persons';

/** Returns a demo person as a client sends it. */
export function newDemoPerson(name: string, spec: object = {}, metadata: object = {}): Record<string, unknown> {
  return {
    apiVersion: 'demo.example.com/v1alpha1',
    kind: 'Person',
    metadata: { name, ...metadata },
    spec: { name: name.toUpperCase(), ...spec },
  };
}
