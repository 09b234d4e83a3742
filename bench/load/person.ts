import { defineModel } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';

export interface Person extends ApiObject {
  readonly spec: {
    readonly name: string;
    readonly age: number;
    readonly city: string;
    readonly email: string;
    readonly tags: readonly string[];
    readonly text: string;
  };
}

/** The fields that {@link personModel} can index. */
export type PersonField = 'spec.name' | 'spec.age' | 'spec.city' | 'spec.email' | 'spec.tags';

export const threeIndexes: readonly PersonField[] = ['spec.name', 'spec.age', 'spec.city'];
export const fiveIndexes: readonly PersonField[] = [...threeIndexes, 'spec.email', 'spec.tags'];

export const personsPath = '/apis/people.example.com/v1alpha1/persons';

const text = { type: 'string' } as const;
const spec = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', maxLength: 100 },
    age: { type: 'integer', minimum: 0, maximum: 150 },
    city: text,
    email: { type: 'string', maxLength: 200 },
    tags: { type: 'array', items: text },
    text,
  },
} as const;

export function personModel(indexes: readonly PersonField[]): ModelDescriptor<Person> {
  const schema = { type: 'object', required: ['spec'], properties: { spec } } as const;
  const gvk = 'people.example.com/v1alpha1/Person';
  // The interface `Person` repeats the schema, because a declaration file can contain an interface, but not the type
  // that is inferred from the schema.
  return defineModel({ gvk, plural: 'persons', singular: 'person', schema, indexes }) as ModelDescriptor<Person>;
}

/** The size of a person as a client sends it. */
const bodyBytes = 1024;

const filler = 'x'.repeat(bodyBytes);

/** The values in which one person differs from another. */
export interface Identity {
  readonly name: string;
  readonly number: number;
  readonly city?: string;
}

/** Returns a new person with exactly 1 KB of JSON, which is all ASCII. */
export function newPerson({ name, number, city = `city-${number % 1000}` }: Identity): Person {
  const person = {
    apiVersion: 'people.example.com/v1alpha1',
    kind: 'Person',
    metadata: { name },
    spec: {
      name: `Name ${(number * 7919) % 1_000_003}`,
      age: number % 100,
      city,
      email: `person-${number}@example.com`,
      tags: [`a-${number % 10}`, `b-${number % 7}`],
      text: '',
    },
  };
  const missing = bodyBytes - JSON.stringify(person).length;
  person.spec.text = filler.slice(0, missing);
  return person as unknown as Person;
}

/** Example values of the metadata that the server adds. */
export const addedMetadata = {
  uid: '00000000-0000-4000-8000-000000000000',
  version: 1,
  generation: 1,
  creationTimestamp: '2026-01-01T00:00:00Z',
  managedFields: [
    {
      manager: 'unknown',
      operation: 'Update',
      apiVersion: 'people.example.com/v1alpha1',
      time: '2026-01-01T00:00:00Z',
      fieldsType: 'FieldsV1',
      fieldsV1: {
        'f:spec': { 'f:age': {}, 'f:city': {}, 'f:email': {}, 'f:name': {}, 'f:tags': {}, 'f:text': {} },
      },
    },
  ],
} as const;

/** Returns the JSON of a person as it is stored. */
export function storedPerson(): string {
  const person = newPerson({ name: 'p-10000', number: 10_000 });
  return JSON.stringify({ ...person, metadata: { ...person.metadata, ...addedMetadata } });
}
