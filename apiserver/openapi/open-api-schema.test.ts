import { expect } from 'chai';
import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { allSteps } from '../turns/steps.ts';
import { openApiSchema } from './open-api-schema.ts';

const convert = (schema: JsonSchema): unknown =>
  allSteps(openApiSchema(schema, (reference) => (reference.endsWith('Known') ? 'a.Known' : undefined)));
const reference = { $ref: '#/components/schemas/a.Known' };

describe('openApiSchema', () => {
  it('keeps the keywords of OpenAPI 3.0 at every depth', () => {
    const schema: JsonSchema = {
      type: 'object',
      description: 'd',
      required: ['a'],
      properties: {
        a: { type: 'string', nullable: true, default: 'x', maxLength: 3, pattern: '^a$', format: 'date' },
        b: { type: 'array', items: { type: 'number', minimum: 1, multipleOf: 2 }, uniqueItems: true },
      },
      additionalProperties: { type: 'boolean', deprecated: true },
      not: { enum: ['x'] },
    };
    expect(convert(schema)).to.deep.equal(schema);
  });

  it('keeps a reference without siblings, and moves a reference with siblings into allOf, so that the siblings have an effect', () => {
    const $ref = '#/components/schemas/Known';
    expect(convert({ $ref })).to.deep.equal(reference);
    expect(convert({ $ref, nullable: true, allOf: [{ type: 'string' }] })).to.deep.equal({
      nullable: true,
      allOf: [reference, { type: 'string' }],
    });
  });

  it('converts an unresolved reference to a schema that accepts any value', () => {
    expect(convert({ $ref: '#/elsewhere' })).to.deep.equal({});
    expect(convert({ $ref: '#/elsewhere', title: 't' })).to.deep.equal({ title: 't' });
  });

  it('writes const as an enum, and adds null to the enum of a nullable schema', () => {
    expect(convert({ const: 3 })).to.deep.equal({ enum: [3] });
    expect(convert({ type: 'string', enum: ['a'], nullable: true })).to.deep.equal({
      type: 'string',
      enum: ['a', null],
      nullable: true,
    });
    expect(convert({ enum: ['a', null], nullable: true })).to.deep.equal({ enum: ['a', null], nullable: true });
  });

  it('writes exclusiveMinimum and exclusiveMaximum as flags of minimum and maximum, and omits the looser of two limits', () => {
    expect(convert({ exclusiveMinimum: 1 })).to.deep.equal({ minimum: 1, exclusiveMinimum: true });
    expect(convert({ minimum: 1, exclusiveMinimum: 1 })).to.deep.equal({ minimum: 1, exclusiveMinimum: true });
    expect(convert({ minimum: 3, exclusiveMinimum: 1 })).to.deep.equal({ minimum: 3 });
    expect(convert({ maximum: 3, exclusiveMaximum: 5 })).to.deep.equal({ maximum: 3 });
    expect(convert({ maximum: 3, exclusiveMaximum: true })).to.deep.equal({ maximum: 3, exclusiveMaximum: true });
    expect(convert({ exclusiveMaximum: true })).to.deep.equal({});
  });

  it('writes int-or-string as anyOf with an integer and a string', () => {
    const flag = { 'x-kubernetes-int-or-string': true } as const;
    const either = [{ type: 'integer' }, { type: 'string' }] as const;
    expect(convert({ ...flag, type: 'string' })).to.deep.equal({ ...flag, anyOf: either });
    expect(convert({ ...flag, anyOf: either })).to.deep.equal({ ...flag, anyOf: either });
  });

  it('omits a pattern that JavaScript does not support', () => {
    expect(convert({ type: 'string', pattern: '(?i)a(?P<x>b)' })).to.deep.equal({ type: 'string' });
  });

  it('pauses after every 500 schemas, wherever they are in the document', () => {
    const list = Array.from({ length: 600 }, (): JsonSchema => ({ type: 'string' }));
    const properties = Object.fromEntries(list.map((each, at) => [`p${at}`, each]));
    const schema: JsonSchema = { properties, allOf: list, items: { not: { additionalProperties: { anyOf: list } } } };
    const steps = openApiSchema(schema, () => undefined);
    let count = 1;
    while (steps.next().done !== true) count += 1;
    expect(count).to.equal(4);
  });

  it('drops unknown keywords, unknown types and empty lists, and adds empty items to an array type without items', () => {
    const odd = { type: 'null', required: [], anyOf: [], oneOf: [], patternProperties: {}, $defs: {} };
    expect(convert(odd as unknown as JsonSchema)).to.deep.equal({});
    expect(convert({ type: 'array' })).to.deep.equal({ type: 'array', items: {} });
  });
});
