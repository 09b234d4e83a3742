import { expect } from 'chai';
import { compileValueSchema } from './value-schema.ts';

const schema = {
  type: 'object',
  required: ['port'],
  properties: {
    port: { type: 'integer', minimum: 1, maximum: 65_535 },
    tls: { type: 'object', default: {}, properties: { on: { type: 'boolean', default: true } } },
  },
};

describe('a schema of a value', () => {
  for (const name of ['spec', 'value']) {
    it(`sets defaults in a copy of the value, prunes and validates it, and reports paths that begin with ${name}`, () => {
      const { judge } = compileValueSchema(name, schema);
      const given = Object.freeze({ port: 0, colour: 'red', tls: Object.freeze({}) });
      const { value, unknownFields, causes } = judge(given);
      expect(value).to.deep.equal({ port: 0, tls: { on: true } });
      expect(unknownFields).to.deep.equal([`${name}.colour`]);
      expect(causes.map(({ field }) => field)).to.deep.equal([`${name}.port`]);
      expect(given).to.deep.equal({ port: 0, colour: 'red', tls: {} });
    });

    it(`refuses an invalid schema with an error that names the mistake, at a path that begins with ${name}`, () => {
      const broken: readonly (readonly [unknown, string])[] = [
        [{ port: { type: 'number', maximun: 7 } }, `${name}.port: "maximun" is not a keyword Homeostat knows`],
        [{ port: {} }, `${name}.port: has no type`],
        [{ port: { type: 'string', pattern: '(?=a)' } }, `${name}.port: pattern "(?=a)" is not supported by RE2`],
        [{ port: { $ref: '#/$defs/Port' } }, `${name}.port: $ref leads to the schema "Port", which does not exist`],
      ];
      for (const [properties, message] of broken)
        expect(() => compileValueSchema(name, { type: 'object', properties }), message).to.throw(message);
      expect(() => compileValueSchema(name, { type: 'object' })).to.throw(`${name}: an object needs properties`);
    });
  }

  it('reports a violation for a value of more than 25,000 fields and items', () => {
    const { judge } = compileValueSchema('spec', {
      type: 'object',
      properties: { list: { type: 'array', items: { type: 'integer' } } },
    });
    const list = (length: number): { list: number[] } => ({ list: Array.from({ length }, () => 1) });
    expect(judge(list(20_000)).causes).to.deep.equal([]);
    const { causes, unknownFields } = judge(list(26_000));
    expect(unknownFields).to.deep.equal([]);
    expect(causes).to.deep.equal([
      {
        reason: 'FieldValueTooMany',
        field: 'spec',
        message: 'Too many: must have at most 25000 fields and items, including those of nested objects and lists',
      },
    ]);
  });

  it('reports a violation for a text that would take too long to match', () => {
    const pattern = '^(a|b)*a(a|b){900}$';
    const { judge, validate } = compileValueSchema('spec', {
      type: 'object',
      properties: { code: { type: 'string', pattern } },
    });
    const code = Array.from({ length: 60_000 }, (_, at) => ((at * 7919) % 13 < 6 ? 'a' : 'b')).join('');
    for (const causes of [judge({ code }).causes, validate({ code })])
      expect(causes.map(({ message }) => message)).to.deep.equal([
        'Invalid value: the object is too complex to be checked against its schema',
      ]);
  });

  it('validate() checks a value even if a field that is not in the schema holds a function, and does not change the value', () => {
    const { validate } = compileValueSchema('value', schema);
    const run = (): void => undefined;
    const value = { port: 80, run };
    expect(validate(value)).to.deep.equal([]);
    expect(value).to.deep.equal({ port: 80, run });
    expect(validate({ run }).map(({ field }) => field)).to.deep.equal(['value.port']);
    expect(validate(undefined).map(({ field }) => field)).to.deep.equal(['value']);
  });
});
