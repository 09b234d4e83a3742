import { expect } from 'chai';
import { Type } from 'typebox';
import { checkDescriptor } from './check-descriptor.ts';
import { defineModel } from './define-model.ts';
import { descriptorOf } from './descriptor.ts';
import { IndexSpec } from '../model/index-spec.ts';
import { simpleAttribute } from '../indexes/index-attribute.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import { ModelError } from '../errors/model-error.ts';
import type { ModelDescriptor } from '../model/model.ts';
import type { ApiObject } from '../object/object.ts';
import { FlatPerson, Person } from '../person.fixture.ts';

const gvk = 'people.example.com/v1alpha1/Person';

const plainPerson = defineModel({
  gvk,
  plural: 'persons',
  singular: 'person',
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        properties: {
          name: { type: 'string', maxLength: 100, description: 'Full name' },
          age: { type: 'integer', minimum: 0, maximum: 150 },
          gender: { enum: ['MALE', 'FEMALE'] },
          tags: { type: 'array', items: { type: 'string' } },
          otherPerson: { $ref: '#/components/schemas/Person' },
        },
      },
      status: { type: 'object', properties: { greeting: { type: 'string' } } },
    },
  },
});

const typeboxPerson = defineModel({
  gvk,
  plural: 'persons',
  singular: 'person',
  schema: Type.Object({
    spec: Type.Object({
      name: Type.Optional(Type.String({ maxLength: 100, description: 'Full name' })),
      age: Type.Optional(Type.Integer({ minimum: 0, maximum: 150 })),
      gender: Type.Optional(Type.Union([Type.Literal('MALE'), Type.Literal('FEMALE')])),
      tags: Type.Optional(Type.Array(Type.String())),
      otherPerson: Type.Optional(Type.Ref('Person')),
    }),
    status: Type.Optional(Type.Object({ greeting: Type.Optional(Type.String()) })),
  }),
});

function model(schema: object, indexes: readonly string[] = []): ModelDescriptor {
  return defineModel({ gvk: 'test.example.com/v1/Thing', plural: 'things', schema, indexes: [...indexes] as never });
}

function specOf(field: object): ModelDescriptor {
  return model({ type: 'object', properties: { spec: { type: 'object', properties: { field } } } });
}

function fieldOf(field: object): JsonSchema | undefined {
  return specOf(field).components['ThingSpec']?.properties?.['field'];
}

function objectWith(field: unknown): ApiObject {
  return { apiVersion: '', kind: '', metadata: {} as ApiObject['metadata'], spec: { field } } as ApiObject;
}

describe('defineModel', () => {
  it('makes the same descriptor from a class, a plain schema and a TypeBox schema', () => {
    const fromClass = descriptorOf(Person);
    expect(plainPerson).to.deep.equal(fromClass);
    expect(typeboxPerson).to.deep.equal(fromClass);
    expect(fromClass.components).to.have.keys('Person', 'PersonSpec', 'PersonStatus');
  });

  it('makes the same descriptor from a class and from a schema, except for indexes, when the fields are not in spec (revision 2.9 of the specification)', () => {
    const flat = defineModel({
      group: 'old.example.com',
      version: 'v1alpha1',
      kind: 'Person',
      plural: 'persons',
      schema: {
        type: 'object',
        properties: {
          name: { type: 'string', maxLength: 100 },
          age: { type: 'integer', minimum: 0, maximum: 150 },
          gender: { type: 'string', enum: ['MALE', 'FEMALE'] },
          otherPerson: { $ref: '#' },
        },
      },
      indexes: ['age'],
    });
    const { indexes, ...rest } = flat;
    const { indexes: _none, ...fromClass } = descriptorOf(FlatPerson);
    expect(rest).to.deep.equal(fromClass);
    expect(indexes.map(({ name }) => name)).to.deep.equal(['age']);
  });

  it('turns the definitions of a recursive TypeBox type into components', () => {
    const schema = Type.Cyclic({ Tree: Type.Object({ spec: Type.Optional(Type.Ref('Tree')) }) }, 'Tree');
    const tree = defineModel({ gvk: 'test.example.com/v1/Tree', plural: 'trees', schema });
    expect(tree.components).to.have.keys('Tree');
    expect(tree.components['Tree']?.properties?.['spec']).to.deep.equal({ $ref: '#/components/schemas/Tree' });
  });

  it('converts unions with null, records, unknown values and untyped enums, as schema libraries write them, to OpenAPI v3', () => {
    expect(fieldOf(Type.Union([Type.String(), Type.Null()]))).to.deep.equal({ type: 'string', nullable: true });
    expect(fieldOf({ type: ['integer', 'null'] })).to.deep.equal({ type: 'integer', nullable: true });
    expect(fieldOf(Type.Record(Type.String(), Type.Integer()))).to.deep.equal({
      type: 'object',
      additionalProperties: { type: 'integer' },
    });
    expect(fieldOf(Type.Unknown())).to.deep.equal({ 'x-kubernetes-preserve-unknown-fields': true });
    expect(fieldOf(Type.Enum([1, 2]))).to.deep.equal({ type: 'integer', enum: [1, 2] });
    expect(fieldOf({ enum: [1, 2.5] })).to.deep.equal({ type: 'number', enum: [1, 2.5] });
    expect(fieldOf({ const: true })).to.deep.equal({ type: 'boolean', const: true });
  });

  it('copies the schema, and returns a deeply frozen descriptor', () => {
    const schema = {
      type: 'object',
      properties: { spec: { type: 'object', properties: { a: { type: 'string', default: 'x' } } } },
    };
    const made = model(schema);
    schema.properties.spec.properties.a.default = 'y';
    const spec = made.components['ThingSpec']?.properties?.['a'];
    expect(spec?.default).to.equal('x');
    expect([made, made.components, spec, made.indexes].every((each) => Object.isFrozen(each))).to.equal(true);
  });

  it('refuses unknown options of a model and of an index, and suggests the right one', () => {
    const schema = { type: 'object', properties: { spec: { type: 'object', properties: {} } } } as const;
    const names = { gvk: 'things.example.com/v1/Thing', plural: 'things', schema } as const;
    const broken: readonly (readonly [options: object, message: string])[] = [
      [{ ...names, indexs: [] }, 'model Thing: options: unknown key "indexs". Did you mean "indexes"?'],
      [{ ...names, group: 'things.example.com' }, 'model Thing: options: unknown key "group".'],
      [{ ...names, indexes: { 'spec.a': {} } }, 'model Thing: indexes: must be a list of paths and specs'],
      [
        { ...names, indexes: [{ path: 'spec.a', uniqe: true }] },
        'model Thing: index spec.a: unknown key "uniqe". Did you mean "unique"?',
      ],
    ];
    for (const [options, message] of broken) expect(() => defineModel(options as never)).to.throw(ModelError, message);
    const column = { name: 'A', type: 'string', jsonPth: '.spec.a' };
    const withColumn = defineModel({ ...names, printerColumns: [column as never] });
    expect(() => checkDescriptor(withColumn, { serviceDomain: 'homeostat.internal' })).to.throw(
      ModelError,
      'printerColumns: column 0: unknown key "jsonPth". Did you mean "jsonPath"?',
    );
  });

  it('refuses a required property that the schema does not know, because it would always be pruned', () => {
    const properties = { name: { type: 'string' } };
    expect(() => specOf({ type: 'object', properties, required: ['nam'] })).to.throw(
      ModelError,
      /Thing\.spec\.field: "required" names a property .* unknown key "nam"\. Did you mean "name"\?/,
    );
    const allowed = [
      { type: 'object', properties, required: ['other'], additionalProperties: { type: 'string' } },
      { type: 'object', properties, required: ['other'], 'x-kubernetes-preserve-unknown-fields': true },
      { type: 'object', properties, anyOf: [{ required: ['name'] }, { required: ['other'] }] },
    ];
    for (const field of allowed) expect(() => specOf(field)).not.to.throw();
    expect(() =>
      model({ type: 'object', required: ['metadata', 'spec'], properties: { spec: { type: 'object', properties } } }),
    ).not.to.throw();
    expect(() =>
      model({ type: 'object', required: ['spce'], properties: { spec: { type: 'object', properties } } }),
    ).to.throw(ModelError, 'Did you mean "spec"?');
  });

  const refused: readonly (readonly [what: string, field: object, message: RegExp])[] = [
    ['a field without a type', { description: 'x' }, /Thing\.spec\.field: has no type/],
    [
      'a keyword that is not understood',
      { type: 'string', maxLenght: 3 },
      /Thing\.spec\.field: "maxLenght" is not a keyword Homeostat knows; did you mean "maxLength"\?/,
    ],
    [
      'a value that a keyword cannot have',
      { type: 'string', maxLength: -1 },
      /field: maxLength must be a whole number/,
    ],
    ['a list of types', { type: ['string', 'integer'] }, /field: type must be one of/],
    ['an array without items', { type: 'array' }, /field: an array needs "items"/],
    ['an object that would be pruned', { type: 'object' }, /field: an object needs properties/],
    ['a tuple', Type.Tuple([Type.String(), Type.String()]), /field: "additionalItems" is not a keyword/],
    [
      'patterns of keys',
      { type: 'object', patternProperties: { '^a': { type: 'string' } } },
      /"patternProperties" is not/,
    ],
    ['a value that JSON cannot represent', { type: 'integer', default: 1n }, /field: default must be a JSON value/],
    [
      'a value that is not a schema',
      { type: 'array', items: 'string' },
      /field\.items: must be a schema, not "string"/,
    ],
  ];
  for (const [what, field, message] of refused) {
    it(`refuses ${what}, and names the field`, () => {
      expect(() => specOf(field)).to.throw(ModelError, message);
    });
  }

  it('refuses a schema that contains itself, is nested too deeply, or expands to more than 100,000 schemas [slow]', () => {
    const cyclic: { type: string; properties: Record<string, unknown> } = { type: 'object', properties: {} };
    cyclic.properties['self'] = cyclic;
    expect(() => specOf(cyclic)).to.throw(ModelError, /field\.self: the schema contains itself/);
    let deep: object = { type: 'string' };
    for (let level = 0; level < 100; level += 1) deep = { type: 'array', items: deep };
    expect(() => specOf(deep)).to.throw(ModelError, /nest at most 100 levels/);
    let shared: object = { type: 'string' };
    for (let level = 0; level < 30; level += 1) shared = { type: 'object', properties: { a: shared, b: shared } };
    expect(() => specOf(shared)).to.throw(ModelError, /at most 100000 schemas/);
  });

  it('refuses `metadata` in a schema, a root schema that is not an object, a schema in $defs with the name of the schema of spec, and a bad gvk [spec 2.2-author-defines]', () => {
    expect(() => model({ type: 'object', properties: { metadata: { type: 'string' } } })).to.throw(
      ModelError,
      /Thing\.metadata: is a field of every object/,
    );
    expect(() => model({ type: 'string' })).to.throw(ModelError, /schema: must be the schema of an object/);
    const spec = { type: 'object', properties: {} };
    expect(() => model({ type: 'object', $defs: { ThingSpec: spec }, properties: { spec } })).to.throw(
      ModelError,
      /"ThingSpec"/,
    );
    // @ts-expect-error -- the type requires slashes
    expect(() => defineModel({ gvk: 'Thing', plural: 'things', schema: spec })).to.throw(ModelError, /gvk: must be/);
  });

  it('accepts paths, paths with options, and specs with a function as indexes [spec 2.8-name-path]', () => {
    const schema = {
      type: 'object',
      properties: { spec: { type: 'object', properties: { slug: { type: 'string' } } } },
    } as const;
    const custom = new IndexSpec({
      name: 'first',
      indexFunc: simpleAttribute(plainPerson, ({ spec }) => spec.name?.charAt(0)),
    });
    const made = defineModel({
      gvk: 'test.example.com/v1/Thing',
      plural: 'things',
      schema,
      indexes: ['spec.slug', custom as unknown as IndexSpec],
    });
    expect(made.indexes.map(({ name, order, unique }) => [name, order, unique])).to.deep.equal([
      ['spec.slug', 'ASC', false],
      ['first', 'ASC', false],
    ]);
    const unique = defineModel({
      gvk: 'test.example.com/v1/Thing',
      plural: 'things',
      schema,
      indexes: [{ path: 'spec.slug', unique: true, order: 'DESC' }],
    });
    expect(unique.indexes[0]).to.include({ name: 'spec.slug', order: 'DESC', unique: true });
  });

  it('refuses an index on a path that does not exist in the schema, leads to an object, or has an index already', () => {
    const schema = {
      type: 'object',
      properties: { spec: { type: 'object', properties: { slug: { type: 'string' } } } },
    };
    expect(() => model(schema, ['spec.slag'])).to.throw(ModelError, /index spec\.slag: spec has no field "slag"/);
    expect(() => model(schema, ['spec'])).to.throw(ModelError, /index spec: spec holds object/);
    expect(() => model(schema, ['spec.slug', 'spec.slug'])).to.throw(ModelError, /index spec\.slug: is declared twice/);
    expect(() => model(schema, ['metadata.name'])).to.throw(ModelError, /index metadata\.name/);
  });

  it('follows references, maps and arrays along the path of an index', () => {
    const schema = {
      type: 'object',
      $defs: { Port: { type: 'object', properties: { number: { type: 'integer' } } } },
      properties: {
        spec: {
          type: 'object',
          properties: {
            ports: { type: 'array', items: { $ref: '#/$defs/Port' } },
            byName: { type: 'object', additionalProperties: { type: 'string' } },
            other: { $ref: '#' },
          },
        },
      },
    };
    const paths = ['spec.ports.number', 'spec.byName.a', 'spec.other.spec.byName.a'];
    const [ports, byName, other] = model(schema, paths).indexes.map(({ indexFunc }) => indexFunc);
    const object = objectWith(undefined) as ApiObject & { spec: unknown };
    object.spec = { ports: [{ number: 443 }, { number: 80 }, { number: 443 }, {}], byName: { a: 'x' } };
    expect(ports?.multiValued).to.equal(true);
    expect(ports?.valuesOf(object)).to.deep.equal([ports?.encode?.('80'), ports?.encode?.('443')]);
    expect(byName?.valuesOf(object)).to.deep.equal(['x']);
    expect(byName?.multiValued).to.equal(false);
    expect(other?.valuesOf(object)).to.deep.equal([]);
  });

  it('reports a stored value whose type is not that of the index, with path and value', () => {
    const schema = {
      type: 'object',
      properties: { spec: { type: 'object', properties: { field: { type: 'integer' } } } },
    };
    const [index] = model(schema, ['spec.field']).indexes;
    expect(() => index?.indexFunc.valuesOf(objectWith('ten'))).to.throw(
      TypeError,
      'index by path spec.field: "ten" is not a number',
    );
    expect(index?.indexFunc.valuesOf(objectWith(null))).to.deep.equal([]);
  });
});
