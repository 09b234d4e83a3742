import {
  AbstractExtension,
  defineModel,
  GVK,
  IndexSpec,
  multiValueAttribute,
  Schema,
  simpleAttribute,
} from '@homeostat/controller-runtime/api';
import type { IndexSpecs, ModelDescriptor } from '@homeostat/controller-runtime/api';

/**
 * The example in section 2.7 of the specification, with two more fields: slug, and nick, which has a default. The kind
 * is cluster-scoped, and does not declare the status subresource.
 */
@GVK({ group: 'people.example.com', version: 'v1alpha1', kind: 'Person', plural: 'persons', singular: 'person' })
export class Person extends AbstractExtension {
  @Schema({ requireMode: 'REQUIRED', type: () => PersonSpec }) spec!: PersonSpec;
  @Schema({ type: () => PersonStatus }) status?: PersonStatus;
}

@Schema({ name: 'PersonSpec' })
export class PersonSpec {
  @Schema({ requireMode: 'REQUIRED', type: 'string', maxLength: 100, description: 'Full name' }) name!: string;
  @Schema({ type: 'integer', minimum: 0, maximum: 150 }) age?: number;
  @Schema({ enum: ['MALE', 'FEMALE'] }) gender?: 'MALE' | 'FEMALE';
  @Schema({ type: 'array', items: { type: 'string' } }) tags?: string[];
  @Schema({ type: () => Person }) otherPerson?: Person;
  @Schema({ type: 'string' }) slug?: string;
  @Schema({ type: 'string', default: 'none' }) nick?: string;
}

@Schema({ name: 'PersonStatus' })
export class PersonStatus {
  @Schema({ type: 'string' }) greeting?: string;
}

/** An index function with two mistakes: `spec.name` selects whether it throws or returns a number. */
function trap({ spec }: Person): string | undefined {
  if (spec.name === 'index throws') throw new Error('the index function broke');
  return spec.name === 'index returns a number' ? (7 as unknown as string) : undefined;
}

export function personIndexes(indexSpecs: IndexSpecs<Person>): void {
  indexSpecs
    .add(new IndexSpec({ name: 'spec.name', indexFunc: simpleAttribute(Person, ({ spec }) => spec.name) }))
    .add(new IndexSpec({ name: 'spec.gender', order: 'DESC', indexFunc: simpleAttribute(Person, genderOf) }))
    .add(new IndexSpec({ name: 'spec.tags', indexFunc: multiValueAttribute(Person, ({ spec }) => spec.tags) }))
    .add(new IndexSpec({ name: 'spec.slug', unique: true, indexFunc: simpleAttribute(Person, slugOf) }))
    .add(new IndexSpec({ name: 'trap', indexFunc: simpleAttribute(Person, trap) }));
}

function genderOf({ spec }: Person): string | undefined {
  return spec.gender;
}

function slugOf({ spec }: Person): string | undefined {
  return spec.slug;
}

/** A Namespaced kind with indexes that are declared by path. */
export const letter: ModelDescriptor = defineModel({
  gvk: 'people.example.com/v1alpha1/Letter',
  plural: 'letters',
  singular: 'letter',
  scope: 'Namespaced',
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['text'],
        properties: { text: { type: 'string' }, weight: { type: 'integer' }, sent: { type: 'boolean' } },
      },
    },
  },
  indexes: ['spec.weight', 'spec.sent', { path: 'spec.text', unique: true }],
});

/** A kind that declares the status subresource, as in Kubernetes. */
export const machine: ModelDescriptor = defineModel({
  gvk: 'people.example.com/v1alpha1/Machine',
  plural: 'machines',
  singular: 'machine',
  subresources: ['status'],
  schema: {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { power: { type: 'integer' } } },
      status: { type: 'object', properties: { running: { type: 'boolean' } } },
    },
  },
});

const version = '/apis/people.example.com/v1alpha1';
export const persons: string = `${version}/persons`;
export const machines: string = `${version}/machines`;
export const letters: string = `${version}/letters`;
export const apiVersion: string = 'people.example.com/v1alpha1';

/** Returns a Person as a client sends it. */
export function person(name: string, spec: object = {}, metadata: object = {}): Record<string, unknown> {
  return { apiVersion, kind: 'Person', metadata: { name, ...metadata }, spec: { name: 'Ann Lee', ...spec } };
}

export function newMachine(name: string, fields: object = {}): Record<string, unknown> {
  return { apiVersion, kind: 'Machine', metadata: { name }, ...fields };
}

export function newLetter(name: string, spec: object = {}): Record<string, unknown> {
  return { apiVersion, kind: 'Letter', metadata: { name }, spec: { text: name, ...spec } };
}
