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
    it(`fills in defaults, prunes and validates a copy, with paths that begin with ${name}`, () => {
      const { judge } = compileValueSchema(name, schema);
      const given = Object.freeze({ port: 0, colour: 'red', tls: Object.freeze({}) });
      const { value, unknownFields, causes } = judge(given);
      expect(value).to.deep.equal({ port: 0, tls: { on: true } });
      expect(unknownFields).to.deep.equal([`${name}.colour`]);
      expect(causes.map(({ field }) => field)).to.deep.equal([`${name}.port`]);
      expect(given).to.deep.equal({ port: 0, colour: 'red', tls: {} });
    });

    it(`says where the schema itself is wrong, for ${name}`, () => {
      const broken: readonly (readonly [unknown, string])[] = [
        [{ port: { type: 'number', maximun: 7 } }, `${name}.port: "maximun" is not a keyword of schemas here`],
        [{ port: {} }, `${name}.port: has no type`],
        [{ port: { type: 'string', pattern: '(?=a)' } }, `${name}.port: pattern "(?=a)" cannot be held by RE2`],
        [{ port: { $ref: '#/$defs/Port' } }, `${name}.port: $ref leads to the schema "Port", which there is not`],
      ];
      for (const [properties, message] of broken)
        expect(() => compileValueSchema(name, { type: 'object', properties }), message).to.throw(message);
      expect(() => compileValueSchema(name, { type: 'object' })).to.throw(`${name}: an object needs properties`);
    });
  }

  it('validates a value that is no JSON, and leaves it alone', () => {
    const { validate } = compileValueSchema('value', schema);
    const run = (): void => undefined;
    const value = { port: 80, run };
    expect(validate(value)).to.deep.equal([]);
    expect(value).to.deep.equal({ port: 80, run });
    expect(validate({ run }).map(({ field }) => field)).to.deep.equal(['value.port']);
    expect(validate(undefined).map(({ field }) => field)).to.deep.equal(['value']);
  });
});
