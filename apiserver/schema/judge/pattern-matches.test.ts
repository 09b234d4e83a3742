import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { allSteps, runSteps } from '../../turns/steps.ts';
import { Validator } from './validator.ts';
import type { SchemaOrigin } from './validator.ts';

/** A pattern with which RE2 enters a new set of states for each character, so that its cache of sets is of no use. */
const hostile = '^(a|b)*a(a|b){300}$';

const matching = `${'ab'.repeat(400)}a${'b'.repeat(300)}`;
const other = `${'ab'.repeat(400)}b${'b'.repeat(300)}`;

function validatorOf(spec: JsonSchema, origin: SchemaOrigin = 'client'): Validator {
  return new Validator({ root: { type: 'object', properties: { spec } }, components: {}, origin });
}

const text = (rules: JsonSchema): JsonSchema => ({ type: 'string', ...rules });

describe('PatternMatches', () => {
  for (const origin of ['client', 'code'] as const) {
    it(`matches a pattern in several steps, with a schema from ${origin}`, () => {
      const validator = validatorOf(text({ pattern: hostile }), origin);
      const steps = [...validator.judge({ spec: matching })];
      expect(steps[0]).to.equal('long');
      expect(allSteps(validator.judge({ spec: matching }))).to.deep.equal([]);
      const [cause] = allSteps(validator.judge({ spec: other }));
      expect(cause).to.include({ field: 'spec' }).and.property('message').contains(`should match '${hostile}'`);
    });
  }

  it('matches short texts in one turn of the event loop', () => {
    const validator = validatorOf(text({ pattern: '^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$' }));
    expect(runSteps(validator.judge({ spec: 'a-name' }), false)).to.deep.equal([]);
    expect(runSteps(validator.judge({ spec: 'A-name' }), false)).to.have.length(1);
  });

  it('validates a value again when the result of not, anyOf or oneOf depends on a match that was not computed yet', () => {
    const long = text({ pattern: hostile });
    const cases: readonly (readonly [schema: JsonSchema, accepts: readonly string[]])[] = [
      [text({ not: long }), [other]],
      [text({ not: { not: long } }), [matching]],
      [text({ anyOf: [long, { maxLength: 1 }] }), [matching]],
      [text({ oneOf: [long, { minLength: 1 }] }), [other]],
      [text({ allOf: [{ not: { pattern: `${hostile}|c` } }, { not: { pattern: `c|${hostile}` } }] }), [other]],
    ];
    for (const [schema, accepts] of cases) {
      const validator = validatorOf(schema);
      const accepted = [matching, other].filter((spec) => allSteps(validator.judge({ spec })).length === 0);
      expect(accepted, JSON.stringify(schema)).to.deep.equal(accepts);
    }
  });

  it('matches a pattern with 20,000 short texts, and reports only the text that does not match', () => {
    const pattern = '^([0-9]{1,3}\\.){3}[0-9]{1,3}$';
    const validator = validatorOf({ type: 'array', items: text({ pattern }) });
    const list = Array.from({ length: 20_000 }, (_, index) => `10.${index % 200}.${index % 100}.1`);
    expect(allSteps(validator.judge({ spec: list }))).to.deep.equal([]);
    const causes = allSteps(validator.judge({ spec: [...list, '10.1'] }));
    expect(causes.map(({ field }) => field)).to.deep.equal(['spec[20000]']);
  });

  it('decides whether a URL of 64 KiB and 1 MB of base64 match the patterns that definitions often have for them', () => {
    const url = text({ pattern: '^https?://[^\\s/$.?#].[^\\s]*$' });
    const base64 = text({ pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$' });
    const validator = validatorOf({ type: 'object', properties: { url, base64 } });
    const judge = (address: string, bytes: string): readonly unknown[] =>
      allSteps(validator.judge({ spec: { url: address, base64: bytes } })).map(({ field }) => field);
    const address = `https://example.com/${'x'.repeat(65_516)}`;
    const bytes = `${'YWJj'.repeat(250_000)}YQ==`;
    expect(judge(address, bytes)).to.deep.equal([]);
    expect(judge(`${address} `, bytes.slice(1))).to.deep.equal(['spec.url', 'spec.base64']);
  });

  it('refuses a value whose matches take too many steps', () => {
    const validator = validatorOf(text({ pattern: '^(a|b)*a(a|b){900}$' }));
    const steps = validator.judge({ spec: 'ab'.repeat(100_000) });
    let count = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) count += 1;
    expect(count).to.be.within(90, 110);
    expect(step.value.map(({ message }) => message)).to.deep.equal([
      'Invalid value: the object is too complex to be checked against its schema',
    ]);
  });
});
