import type { ApiObject, ModelDescriptor, ObjectMeta } from '@homeostat/controller-runtime/api';
import { defaultIndexes, IndexSpec } from '@homeostat/controller-runtime/api';
import type { StoredEntry } from './stored-entry.ts';
import { createEntry } from './create-entry.ts';
import { KindCache } from './kind-cache.ts';

export interface Person extends ApiObject {
  readonly spec: {
    readonly name?: string;
    readonly age?: number;
    readonly tags?: readonly string[];
    readonly slug?: string;
    readonly team?: string;
  };
}

/** Encodes an age from 0 to 999 with three digits, so that texts sort like numbers. */
export function encodeAge(age: number): string {
  if (!Number.isInteger(age) || age < 0 || age > 999) throw new RangeError(`${age} is no age`);
  return String(age).padStart(3, '0');
}

const personIndexes: readonly IndexSpec<Person>[] = [
  new IndexSpec<Person>({ name: 'spec.name', indexFunc: single((person) => person.spec.name) }),
  new IndexSpec<Person>({
    name: 'spec.age',
    indexFunc: {
      ...single((person) => (person.spec.age === undefined ? undefined : encodeAge(person.spec.age))),
      encode: (literal) => encodeAge(Number(literal)),
    },
  }),
  new IndexSpec<Person>({
    name: 'spec.tags',
    indexFunc: { multiValued: true, valuesOf: (person) => person.spec.tags ?? [] },
  }),
  new IndexSpec<Person>({ name: 'spec.slug', unique: true, indexFunc: single((person) => person.spec.slug) }),
  new IndexSpec<Person>({ name: 'spec.team', order: 'DESC', indexFunc: single((person) => person.spec.team) }),
];

export function personDescriptor(scope: ModelDescriptor['scope'] = 'Cluster'): ModelDescriptor {
  return {
    group: 'people.example.com',
    version: 'v1alpha1',
    kind: 'Person',
    plural: 'persons',
    singular: 'person',
    scope,
    nameFormat: 'label',
    subresources: [],
    shortNames: [],
    categories: [],
    printerColumns: [],
    schemaName: 'Person',
    components: {},
    indexes: personIndexes,
  };
}

export function createPersonCache(scope: ModelDescriptor['scope'] = 'Cluster'): KindCache {
  return new KindCache(personDescriptor(scope), [...defaultIndexes(), ...personIndexes]);
}

/**
 * Creates a person. By default, the metadata is that of the first version of an object that was created at the
 * beginning of 2024.
 */
export function createPerson(
  metadata: Partial<ObjectMeta> & { readonly name: string },
  spec: Person['spec'] = {},
): Person {
  return {
    apiVersion: 'people.example.com/v1alpha1',
    kind: 'Person',
    metadata: {
      uid: `uid-${metadata.name}`,
      version: 1,
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: '2024-01-01T00:00:00Z',
      ...metadata,
    },
    spec,
  };
}

export function personEntry(cache: KindCache, person: Person, revision = 1): StoredEntry {
  const bytes = Buffer.from(JSON.stringify(person));
  return createEntry(person, { revision, bytes, values: cache.draft(person), slabs: cache.slabs });
}

function single(read: (person: Person) => string | undefined): IndexSpec<Person>['indexFunc'] {
  return {
    multiValued: false,
    valuesOf: (person) => {
      const value = read(person);
      return value === undefined ? [] : [value];
    },
  };
}
