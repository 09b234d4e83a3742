import { expect } from 'chai';
import { Type } from 'typebox';
import { checkDescriptor } from '../define/check-descriptor.ts';
import { defineModel } from '../define/define-model.ts';
import type { ModelOptions } from '../define/define-model.ts';
import type { FromSchema } from '../define/from-schema.ts';
import { multiValueAttribute, simpleAttribute } from '../indexes/index-attribute.ts';
import type { ModelDescriptor } from './model.ts';
import { Person } from '../person.fixture.ts';

// The compiler runs these tests: a type that is not exactly the expected one does not compile.
type Equal<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
type TypeOf<D> = D extends ModelDescriptor<infer T> ? T : never;
type SpecOf<D> = TypeOf<D> extends { readonly spec: infer S } ? S : never;

function isExactly<A, B>(answer: Equal<A, B>): boolean {
  return answer;
}

interface ExpectedSpec {
  readonly name: string;
  readonly age?: number;
  readonly gender?: 'MALE' | 'FEMALE';
  readonly tags?: readonly string[];
  readonly limits?: Readonly<Record<string, number>>;
  readonly nick?: string | null;
}

const plain = defineModel({
  gvk: 'people.example.com/v1alpha1/Person',
  plural: 'persons',
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['name'],
        properties: {
          name: { type: 'string' },
          age: { type: 'integer' },
          gender: { enum: ['MALE', 'FEMALE'] },
          tags: { type: 'array', items: { type: 'string' } },
          limits: { type: 'object', additionalProperties: { type: 'number' } },
          nick: { type: 'string', nullable: true },
        },
      },
      status: { type: 'object', properties: { greeting: { type: 'string' } } },
    },
  },
  indexes: ['spec.name', 'spec.tags', 'spec.limits.cpu', { path: 'spec.age', order: 'DESC' }, 'status.greeting'],
});

const typebox = defineModel({
  gvk: 'people.example.com/v1alpha1/Person',
  plural: 'persons',
  schema: Type.Object({
    spec: Type.Object({
      name: Type.String(),
      age: Type.Optional(Type.Integer()),
      gender: Type.Optional(Type.Union([Type.Literal('MALE'), Type.Literal('FEMALE')])),
      tags: Type.Optional(Type.Array(Type.String())),
      limits: Type.Optional(Type.Record(Type.String(), Type.Number())),
      nick: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    }),
    status: Type.Optional(Type.Object({ greeting: Type.Optional(Type.String()) })),
  }),
  indexes: ['spec.name', 'spec.tags', 'spec.limits.cpu', { path: 'spec.age', order: 'DESC' }, 'status.greeting'],
});

/** Returns a function that declares a model and checks its descriptor, as a registration does. */
const checkable =
  <const S extends object>(options: ModelOptions<S, 'Cluster'>) =>
  (): void =>
    checkDescriptor(defineModel(options), { serviceDomain: 'homeostat.internal' });

describe('types of models', () => {
  it('the object type of a model has the spec and status that a plain schema or a TypeBox type describes', () => {
    type Status = { readonly greeting?: string } | undefined;
    expect(isExactly<SpecOf<typeof plain>, { [K in keyof ExpectedSpec]: ExpectedSpec[K] }>(true)).to.equal(true);
    expect(isExactly<SpecOf<typeof typebox>, { [K in keyof ExpectedSpec]: ExpectedSpec[K] }>(true)).to.equal(true);
    expect(isExactly<TypeOf<typeof plain>['status'], Status>(true)).to.equal(true);
    expect(isExactly<TypeOf<typeof typebox>['status'], Status>(true)).to.equal(true);
    expect(plain.components).to.deep.equal(typebox.components);
  });

  it('the objects of Namespaced models have a namespace of type string', () => {
    const desk = defineModel({
      gvk: 'people.example.com/v1alpha1/Desk',
      plural: 'desks',
      scope: 'Namespaced',
      schema: { type: 'object', properties: { spec: { type: 'object', properties: {} } } },
    });
    expect(isExactly<TypeOf<typeof desk>['metadata']['namespace'], string>(true)).to.equal(true);
    expect(isExactly<TypeOf<typeof plain>['metadata']['namespace'], string | undefined>(true)).to.equal(true);
    expect(desk.scope).to.equal('Namespaced');
  });

  it('an invalid gvk, or a keyword that schemas do not have, is refused; the compiler finds most of these mistakes', () => {
    const names = { gvk: 'people.example.com/v1alpha1/Person', plural: 'persons' } as const;
    const spec = { type: 'object', properties: { name: { type: 'string', maxLength: 9 } } } as const;
    const whole = { type: 'object', properties: { spec } } as const;
    expect(() => defineModel({ ...names, schema: whole })).not.to.throw();
    // @ts-expect-error -- the text has no slash
    expect(() => defineModel({ ...names, gvk: 'nonsense', schema: whole })).to.throw('gvk: must be');
    expect(() => defineModel({ ...names, gvk: 'people.example.com/v1/Person/extra', schema: whole })).to.throw('gvk:');
    // @ts-expect-error -- Kubernetes has no such version
    expect(checkable({ ...names, gvk: 'people.example.com/1.0/Person', schema: whole })).to.throw('version');
    // @ts-expect-error -- a kind begins with an upper-case letter
    expect(checkable({ ...names, gvk: 'people.example.com/v1/person', schema: whole })).to.throw('kind');
    expect(checkable({ ...names, gvk: 'v1/Person', schema: whole })).to.throw('group');
    const misspelt = {
      type: 'object',
      properties: { spec: { ...spec, properties: { name: { type: 'string', maxLenght: 9 } } } },
    } as const;
    // @ts-expect-error -- maxLenght is not a keyword, at any depth
    expect(() => defineModel({ ...names, schema: misspelt })).to.throw('did you mean "maxLength"?');
    const inItems = {
      type: 'object',
      properties: { tags: { type: 'array', items: { type: 'string', patern: 'x' } } },
    } as const;
    // @ts-expect-error -- patern is not a keyword, and items are checked, too
    expect(() => defineModel({ ...names, schema: inItems })).to.throw('did you mean "pattern"?');
  });

  it('FromSchema infers the type of an object from Type.Intersect, Type.Unsafe and Type.Cyclic', () => {
    const both = Type.Intersect([Type.Object({ a: Type.String() }), Type.Object({ b: Type.Optional(Type.Integer()) })]);
    const unsafe = Type.Unsafe<Date>({ type: 'string' });
    const tree = Type.Cyclic(
      { Tree: Type.Object({ name: Type.String(), next: Type.Optional(Type.Ref('Tree')) }) },
      'Tree',
    );
    expect(isExactly<FromSchema<typeof both>, { readonly a: string } & { readonly b?: number }>(true)).to.equal(true);
    expect(isExactly<FromSchema<typeof unsafe>, Date>(true)).to.equal(true);
    expect(isExactly<FromSchema<typeof tree>, { readonly name: string; readonly next?: unknown }>(true)).to.equal(true);
  });

  it('the compiler and defineModel refuse a wrong path of an index', () => {
    const schema = {
      type: 'object',
      properties: { spec: { type: 'object', properties: { slug: { type: 'string' } } } },
    } as const;
    const names = { gvk: 'test.example.com/v1/Thing', plural: 'things', schema } as const;
    // @ts-expect-error there is no such field
    expect(() => defineModel({ ...names, indexes: ['spec.slag'] })).to.throw('slag');
    // @ts-expect-error an object cannot be indexed
    expect(() => defineModel({ ...names, indexes: [{ path: 'spec' }] })).to.throw('spec');
    expect(defineModel({ ...names, indexes: ['spec.slug'] }).indexes).to.have.length(1);
  });

  it('the parameter of an index function has the type of the objects of the model, for a class and for a descriptor', () => {
    const byClass = simpleAttribute(Person, (person) => person.spec.name);
    const byDescriptor = multiValueAttribute(plain, (person) => person.spec.tags);
    // @ts-expect-error the class has no such field
    simpleAttribute(Person, (person) => person.spec.surname);
    // @ts-expect-error index values are strings
    simpleAttribute(plain, (person) => person.spec.age);
    expect([byClass.multiValued, byDescriptor.multiValued]).to.deep.equal([false, true]);
  });

  it('the compiler allows an index on any path when it does not know the schema', () => {
    const schema: object = {
      type: 'object',
      properties: { spec: { type: 'object', properties: { a: { type: 'string' } } } },
    };
    const made = defineModel({ gvk: 'test.example.com/v1/Thing', plural: 'things', schema, indexes: ['spec.a'] });
    expect(made.indexes[0]?.name).to.equal('spec.a');
  });
});
