import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { compileSchema } from './compile-schema.ts';
import { formats } from './judge/formats.ts';
import { unknownFieldMessage } from './pruner.ts';

const text: JsonSchema = { type: 'string' };
const person: JsonSchema = { $ref: '#/components/schemas/Person' };
const personSpec: JsonSchema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', maxLength: 100 },
    age: { type: 'integer', minimum: 0, maximum: 150 },
    gender: { type: 'string', enum: ['MALE', 'FEMALE'] },
    replicas: { type: 'integer', default: 1 },
    email: { type: 'string', pattern: '^[^@]+@[^@]+$' },
    tags: { type: 'array', maxItems: 5, items: text, 'x-kubernetes-list-type': 'set' },
    otherPerson: person,
  },
};
const people = compileSchema({
  schemaName: 'Person',
  components: {
    Person: {
      type: 'object',
      required: ['spec'],
      properties: {
        apiVersion: text,
        kind: text,
        metadata: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        spec: personSpec,
      },
    },
  },
});

function compile(
  schema: JsonSchema,
  others: Readonly<Record<string, JsonSchema>> = {},
): ReturnType<typeof compileSchema> {
  return compileSchema({ schemaName: 'Root', components: { Root: schema, ...others } });
}

/** Compiles a schema with one field, `v`. */
function field(
  schema: JsonSchema,
  others: Readonly<Record<string, JsonSchema>> = {},
): ReturnType<typeof compileSchema> {
  return compile({ type: 'object', properties: { v: schema } }, others);
}

function nest(levels: number): object {
  let value: object = {};
  for (let level = 0; level < levels; level += 1) value = { v: value };
  return value;
}

describe('compileSchema', () => {
  it('reuses empty arrays: one whenever prune removes no field, and one whenever validate finds no violation', () => {
    const object = { apiVersion: 'a/v1', kind: 'Person', metadata: { name: 'a' }, spec: { name: 'A' } };
    expect(people.prune(object)).to.equal(people.prune({ spec: { age: 1 } }));
    expect(people.validate(object)).to.equal(people.validate({ spec: { name: 'B' } }));
    expect(Object.isFrozen(people)).to.equal(true);
  });

  it('reports all violations together, with the wording of Kubernetes', () => {
    const spec = {
      name: 'x'.repeat(101),
      age: 151,
      gender: 'OTHER',
      email: 'nope',
      tags: ['a', 'a', 'b', 'c', 'd', 'e'],
    };
    expect(people.validate({ spec })).to.have.deep.members([
      { reason: 'FieldValueTooMany', message: 'Too many: 6: must have at most 5 items', field: 'spec.tags' },
      {
        reason: 'FieldValueInvalid',
        message: 'Invalid value: 151: spec.age in body should be less than or equal to 150',
        field: 'spec.age',
      },
      {
        reason: 'FieldValueInvalid',
        message: 'Invalid value: "nope": spec.email in body should match \'^[^@]+@[^@]+$\'',
        field: 'spec.email',
      },
      {
        reason: 'FieldValueNotSupported',
        message: 'Unsupported value: "OTHER": supported values: "MALE", "FEMALE"',
        field: 'spec.gender',
      },
      { reason: 'FieldValueTooLong', message: 'Too long: may not be more than 100 bytes', field: 'spec.name' },
      { reason: 'FieldValueDuplicate', message: 'Duplicate value: "a"', field: 'spec.tags[1]' },
    ]);
  });

  it('sets defaults in a nested object, prunes it and validates it with one schema', () => {
    const object = { spec: { name: 'A', otherPerson: { spec: { name: 'B', bogus: 1, age: -1 } } } };
    people.applyDefaults(object);
    expect(people.prune(object)).to.deep.equal(['spec.otherPerson.spec.bogus']);
    expect(object.spec.otherPerson.spec).to.deep.equal({ name: 'B', age: -1, replicas: 1 });
    expect(people.validate(object).map((cause) => cause.field)).to.deep.equal(['spec.otherPerson.spec.age']);
  });

  it('keeps only the known fields of metadata and of its owner references', () => {
    const metadata = { name: 'a', version: 3, foo: 1, ownerReferences: [{ uid: 'u', bar: 2 }] };
    expect(people.prune({ metadata, spec: {} })).to.deep.equal(['metadata.foo', 'metadata.ownerReferences[0].bar']);
    expect(metadata).to.deep.equal({ name: 'a', version: 3, ownerReferences: [{ uid: 'u' }] });
  });

  it('does not apply additionalProperties to apiVersion, kind and metadata', () => {
    const object = { apiVersion: 'a/v1', kind: 'K', metadata: { name: 'a' }, other: { x: 1 } };
    const open = compile({ type: 'object', additionalProperties: { type: 'object', properties: {} } });
    expect(open.prune(structuredClone(object))).to.deep.equal(['other.x']);
    const closed = compile({ type: 'object', additionalProperties: false });
    expect(closed.prune(object)).to.deep.equal(['other']);
    expect(closed.validate(object)).to.deep.equal([]);
  });

  it('keeps the fields that a branch of the schema or a referenced schema declares', () => {
    const base: JsonSchema = { type: 'object', properties: { a: { type: 'string', default: 'x' } } };
    const branch: JsonSchema = { type: 'object', properties: { b: { type: 'string', default: 'y' } } };
    const composed = field(
      { allOf: [{ $ref: '#/components/schemas/Base' }], anyOf: [branch, { type: 'object' }] },
      { Base: base },
    );
    const object = { v: { b: '1', c: '1' } };
    composed.applyDefaults(object);
    expect(composed.prune(object)).to.deep.equal(['v.c']);
    expect(object).to.deep.equal({ v: { a: 'x', b: '1' } });
  });

  it('gives each object its own copy of a default', () => {
    const schema = field({ type: 'object', default: { list: [] }, 'x-kubernetes-preserve-unknown-fields': true });
    const [first, second]: { v?: { list: number[] } }[] = [{}, {}];
    schema.applyDefaults(first ?? {});
    first?.v?.list.push(1);
    schema.applyDefaults(second ?? {});
    expect(second).to.deep.equal({ v: { list: [] } });
  });

  it('accepts 5.0 as an integer and refuses 5.5', () => {
    expect(field({ type: 'integer' }).validate(JSON.parse('{"v":5.0}') as object)).to.deep.equal([]);
    expect(field({ type: 'integer' }).validate({ v: 5.5 })[0]?.message).to.equal(
      'Invalid value: "number": v in body must be of type integer: "number"',
    );
  });

  it('refuses integers that a double cannot represent exactly, whatever bounds the schema has', () => {
    const largest = Number.MAX_SAFE_INTEGER;
    const schemas: JsonSchema[] = [
      { type: 'integer' },
      { type: 'integer', nullable: true, minimum: -(2 ** 63), maximum: 2 ** 63 },
      { type: 'integer', minimum: -(2 ** 63), exclusiveMinimum: true, maximum: 2 ** 64, exclusiveMaximum: true },
      { 'x-kubernetes-int-or-string': true },
    ];
    for (const schema of schemas) {
      const integers = field(schema);
      for (const v of [largest, -largest]) expect(integers.validate({ v }), JSON.stringify(schema)).to.deep.equal([]);
      // JSON.parse rounds 9007199254740993, -9007199254740993 and the largest integer of 64 bits to these values. So
      // the validator refuses the values: the client may have sent other digits.
      for (const v of [2 ** 53, -(2 ** 53), 2 ** 63]) {
        const [cause] = integers.validate({ v });
        expect(cause?.message, JSON.stringify(schema)).to.equal(
          `Invalid value: ${v}: v in body should be within 9007199254740991 of 0: larger integers lose digits`,
        );
      }
    }
    expect(field({ type: 'number' }).validate({ v: 1e300 })).to.deep.equal([]);
  });

  it('allows null for a nullable schema, even if its other keywords refuse null', () => {
    for (const rule of [{ enum: ['a'] }, { pattern: 'a' }, { allOf: [{ minLength: 1 }] }] as const) {
      expect(field({ type: 'string', nullable: true, ...rule }).validate({ v: null })).to.deep.equal([]);
      expect(field({ type: 'string', ...rule }).validate({ v: null })).not.to.deep.equal([]);
    }
  });

  it('accepts exclusive bounds as booleans and as numbers', () => {
    const booleans = field({ type: 'number', minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: false });
    const numbers = field({ type: 'number', exclusiveMinimum: 1, maximum: 3 });
    for (const schema of [booleans, numbers]) {
      expect([1, 2, 3, 4].map((v) => schema.validate({ v }).length)).to.deep.equal([1, 0, 0, 1]);
    }
  });

  it('accepts 0.3 as a multiple of 0.1', () => {
    expect(field({ type: 'number', multipleOf: 0.1 }).validate({ v: 0.3 })).to.deep.equal([]);
    expect(field({ type: 'number', multipleOf: 0.1 }).validate({ v: 0.35 })).to.have.length(1);
  });

  it('requires apiVersion, kind and well-formed metadata of an embedded resource', () => {
    const schema = field({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
    });
    expect(
      schema
        .validate({ v: { apiVersion: 1, metadata: { labels: [] } } })
        .map(({ field: path, reason }) => [path, reason]),
    ).to.deep.equal([
      ['v.apiVersion', 'FieldValueTypeInvalid'],
      ['v.kind', 'FieldValueRequired'],
      ['v.metadata.labels', 'FieldValueTypeInvalid'],
    ]);
  });

  it('reports an unknown field with the text of Kubernetes', () => {
    expect(unknownFieldMessage('spec.bogus')).to.equal('unknown field "spec.bogus"');
  });
});

describe('compileSchema with an invalid schema', () => {
  it('refuses patterns that RE2 does not support', () => {
    expect(() => field({ type: 'string', pattern: '(?=a)b' })).to.throw(
      SyntaxError,
      "the pattern '(?=a)b' is not supported by RE2",
    );
  });

  it('refuses a $ref or a schemaName that names a schema that does not exist', () => {
    expect(() => field({ $ref: '#/components/schemas/Nobody' })).to.throw(ReferenceError, 'Nobody');
    expect(() => compileSchema({ schemaName: 'toString', components: {} })).to.throw(ReferenceError, 'toString');
  });

  it('refuses a property named __proto__', () => {
    expect(() =>
      compile({
        type: 'object',
        properties: JSON.parse('{"__proto__":{"type":"string"}}') as Record<string, JsonSchema>,
      }),
    ).to.throw('__proto__');
  });

  it('refuses a default that contains itself: {} for a schema with a property of the same schema, or [null] for a schema with items of the same schema', () => {
    const self: JsonSchema = { $ref: '#/components/schemas/Node', default: {} };
    expect(() => field(self, { Node: { type: 'object', properties: { next: self } } })).to.throw(
      RangeError,
      'contains itself',
    );
    const item: JsonSchema = { $ref: '#/components/schemas/List', default: [null] };
    expect(() => field(item, { List: { type: 'array', items: item } })).to.throw(RangeError, 'contains itself');
  });

  it('refuses defaults that add too many values', () => {
    const levels: Record<string, JsonSchema> = { L0: { type: 'object', properties: {} } };
    for (let level = 1; level <= 40; level += 1) {
      const below: JsonSchema = { $ref: `#/components/schemas/L${level - 1}`, default: {} };
      levels[`L${level}`] = { type: 'object', properties: { a: below, b: below } };
    }
    expect(() => field({ $ref: '#/components/schemas/L40' }, levels)).to.throw(
      RangeError,
      'adds more than 10000 values to an object',
    );
  });
});

describe('compileSchema with hostile objects', () => {
  it('reports 100 of a million violations', () => {
    const causes = field({ type: 'array', items: text }).validate({ v: Array.from({ length: 1_000_000 }, () => 1) });
    expect(causes).to.have.length(100);
    expect(causes.at(-1)?.field).to.equal('v[99]');
  });

  it('removes all unknown fields and names 100 of them', () => {
    const object = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, index]));
    expect(field(text).prune(object)).to.have.length(100);
    expect(object).to.deep.equal({});
  });

  it('shortens long values and long names in its messages', () => {
    const name = 'n'.repeat(1_000_000);
    const [path] = field(text).prune({ [name]: 1 });
    expect(path).to.have.length(1025);
    const [cause] = field({ type: 'string', pattern: '^b' }).validate({ v: name });
    expect(cause?.message.length).to.be.below(1200);
  });

  it('treats keys that every JavaScript object inherits as ordinary keys', () => {
    const withDefault: JsonSchema = { type: 'string', default: 'x' };
    const inherited = Object.fromEntries([
      ['constructor', withDefault],
      ['toString', text],
    ]);
    const schema = compile({ type: 'object', required: ['constructor'], properties: inherited });
    expect(schema.validate({})[0]).to.include({ field: 'constructor', reason: 'FieldValueRequired' });
    const object = JSON.parse('{"__proto__":{"polluted":true},"valueOf":1,"toString":"s"}') as object;
    expect(schema.prune(object)).to.deep.equal(['__proto__', 'valueOf']);
    schema.applyDefaults(object);
    expect(Object.entries(object)).to.deep.equal([
      ['toString', 's'],
      ['constructor', 'x'],
    ]);
    expect(Object.getPrototypeOf(object)).to.equal(Object.prototype);
  });

  it('quickly checks a text against a pattern that takes a backtracking engine exponential time', () => {
    const causes = field({ type: 'string', pattern: '^(a+)+$' }).validate({ v: `${'a'.repeat(100_000)}!` });
    expect(causes).to.have.length(1);
  });

  it('stops early for a schema that doubles the work with each level of the object [slow]', () => {
    const node: JsonSchema = { $ref: '#/components/schemas/Node' };
    const branch = (limit: number): JsonSchema => ({ type: 'object', maxProperties: limit, properties: { v: node } });
    const tree = field(node, { Node: { anyOf: [branch(1), branch(2), { ...branch(3), required: ['never'] }] } });
    expect(tree.validate(nest(60))).to.deep.equal([]);
    let leaf: object = { v: 1 };
    for (let level = 0; level < 60; level += 1) leaf = { v: leaf };
    expect(tree.validate(leaf)[0]?.message).to.contain('too complex');
  });

  it('checks formats in linear time', () => {
    const long = 200_000;
    const texts = ['a', 'a.', '1', ':', '%41', 'a-', '1h', 'a@', '0'].map((part) => part.repeat(long));
    for (const [name, check] of formats) {
      for (const each of [...texts, `a@${'a'.repeat(long)}!`, `P${'1D'.repeat(long)}!`])
        expect(check(each), name).to.be.a('boolean');
    }
  });
});

describe('formats', () => {
  const examples: Readonly<Record<string, readonly [good: readonly string[], bad: readonly string[]]>> = {
    'date-time': [
      ['2024-02-29T23:59:59.5+02:00'],
      ['2023-02-29T00:00:00Z', '2024-01-01T24:00:00Z', '2024-01-01T00:00:00'],
    ],
    duration: [
      ['1h30m', '1.5s', '0', 'P1DT2H'],
      ['', '1', '1x', 'P', 'P1DT'],
    ],
    cidr: [
      ['10.0.0.0/8', '::1/128'],
      ['10.0.0.0/33', '10.0.0.0', '::1/129'],
    ],
    mac: [['01:23:45:67:89:ab'], ['01:23:45:67:89', '01:23:45:67:89:xy']],
    ipv4: [['127.0.0.1'], ['256.0.0.1', '1.2.3']],
    ipv6: [
      ['::1', 'fe80::1'],
      ['::g', '127.0.0.1'],
    ],
    uuid4: [['123e4567-e89b-42d3-a456-426614174000'], ['123e4567-e89b-12d3-a456-426614174000']],
    uri: [
      ['urn:a:b', 'https://a/%41'],
      ['a b', 'https://a/%4', 'rel'],
    ],
    byte: [['aGVsbG8='], ['aGVsbG8', 'aGVsbG8=\n!!!!']],
  };
  for (const [name, [good, bad]] of Object.entries(examples)) {
    it(`distinguishes a ${name} from other texts`, () => {
      const schema = field({ type: 'string', format: name });
      for (const v of good) expect(schema.validate({ v }), v).to.deep.equal([]);
      for (const v of bad) expect(schema.validate({ v }), v).to.have.length(1);
    });
  }
});
