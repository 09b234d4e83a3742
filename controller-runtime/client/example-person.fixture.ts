import { defineModel } from '../api/index.ts';
import type { ApiObject, Model, ModelDescriptor } from '../api/index.ts';

/** The kind that tests of clients and caches use. */
export interface Person extends ApiObject {
  readonly spec: { readonly name: string; readonly age?: number; readonly tags?: readonly string[] };
  readonly status?: { readonly greeting?: string };
}

const schema = {
  type: 'object',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string', maxLength: 100 },
        age: { type: 'integer', minimum: 0, maximum: 150 },
        tags: { type: 'array', items: { type: 'string' } },
      },
    },
    status: { type: 'object', properties: { greeting: { type: 'string' } } },
  },
} as const;

const names = {
  group: 'people.example.com',
  version: 'v1alpha1',
  kind: 'Person',
  plural: 'persons',
  singular: 'person',
};

/** A Cluster-scoped kind with indexes on `spec.name` and `spec.age`. */
export const Person: ModelDescriptor<Person> = defineModel({
  ...names,
  schema,
  indexes: ['spec.name', 'spec.age'],
}) as Model as ModelDescriptor<Person>;

/** A Namespaced kind with the fields of a person. */
export interface Badge extends Person {}

export const Badge: ModelDescriptor<Badge> = defineModel({
  ...names,
  kind: 'Badge',
  plural: 'badges',
  singular: 'badge',
  scope: 'Namespaced',
  schema,
}) as Model as ModelDescriptor<Badge>;

/** A kind that a test registers and unregisters. */
export const Visitor: ModelDescriptor<Person> = defineModel({
  ...names,
  kind: 'Visitor',
  plural: 'visitors',
  singular: 'visitor',
  schema,
}) as Model as ModelDescriptor<Person>;

/** The request path of the kind Person. */
export const personsPath = '/apis/people.example.com/v1alpha1/persons';

/** Returns a stored person, as a server would return it. */
export function person(name: string, resourceVersion: string, rest: Partial<Omit<Person, 'metadata'>> = {}): Person {
  return {
    apiVersion: 'people.example.com/v1alpha1',
    kind: 'Person',
    metadata: {
      name,
      uid: `uid-${name}`,
      version: 1,
      resourceVersion,
      generation: 1,
      creationTimestamp: '2030-01-01T00:00:00Z',
    },
    spec: { name },
    ...rest,
  };
}

/** Returns the response to a list that is complete in one chunk. */
export function personList(resourceVersion: string, items: readonly Person[]): object {
  return { apiVersion: 'people.example.com/v1alpha1', kind: 'PersonList', metadata: { resourceVersion }, items };
}
