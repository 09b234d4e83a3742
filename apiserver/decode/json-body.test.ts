import { isApiError } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import fc from 'fast-check';
import { uncountedLength } from '../limits/body-limits.ts';
import type { BodyLimits } from '../limits/body-limits.ts';
import { parseJson } from './decode-body.ts';

const limits = { maxDepth: 64 };

function refusal(text: string, within: BodyLimits = limits): string {
  try {
    parseJson(text, within);
  } catch (error) {
    if (!isApiError(error)) throw error;
    expect(error.reason).to.equal(within === limits ? 'BadRequest' : 'RequestEntityTooLarge');
    return error.message;
  }
  throw new Error(`accepted: ${text.slice(0, 100)}`);
}

describe('parseJson', () => {
  // The first use of `binary` costs 0.8 s, for the table of all code points.
  for (const [numRuns, stringUnit, tier] of [
    [15, 'grapheme', ''],
    [500, 'binary', ' [slow]'],
  ] as const) {
    it(`parses the JSON text of a value to an equal value${tier}`, () => {
      // -0 is left out, because JSON.stringify writes it as 0.
      const values = fc
        .jsonValue({ stringUnit, depthSize: 'medium' })
        .map((value) => JSON.parse(JSON.stringify(value)) as unknown);
      fc.assert(
        fc.property(values, fc.constantFrom(undefined, 2), (value, indent) => {
          fc.pre(!JSON.stringify(value).includes('__proto__'));
          expect(parseJson(JSON.stringify(value, null, indent), limits)).to.deep.equal(value);
        }),
        { numRuns },
      );
    });
  }

  it('handles quotes, brackets, colons and backslashes inside strings', () => {
    const texts = fc.string({ unit: fc.constantFrom('"', '\\', ':', '{', '}', '[', ']', ',', 'a', '\n') });
    fc.assert(
      fc.property(fc.dictionary(texts, fc.array(texts), { noNullPrototype: true }), (value) => {
        expect(parseJson(JSON.stringify(value), limits)).to.deep.equal(value);
      }),
      { numRuns: 500 },
    );
  });

  it('refuses each text that JSON.parse refuses, and names the place of the mistake, or a duplicate field if one precedes the mistake', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"',
      '\\',
      '1',
      '-',
      '01',
      '1.5',
      'true',
      'nul',
      ' ',
      '\n',
      '\u0001',
      '\\u12',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
        const text = parts.join('');
        fc.pre(!isJson(text));
        expect(refusal(text)).to.match(
          /^the body is not valid JSON: expected .+ at line \d+, column \d+, found |^duplicate field/,
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('names line and column of a mistake, and quotes only one character of the body', () => {
    const secret = '{\n  "password": "hunter2",\n  "a": }';
    expect(refusal(secret)).to.equal('the body is not valid JSON: expected a value at line 3, column 8, found "}"');
    expect(refusal('{"a":1')).to.equal(
      'the body is not valid JSON: expected "," or "}" at line 1, column 7, found the end',
    );
    expect(refusal('')).to.equal('the body is not valid JSON: expected a value at line 1, column 1, found the end');
  });

  it('names the first duplicate field, even if an escape sequence spells its name', () => {
    expect(refusal('{"spec":{"name":"a","name":"b"}}')).to.equal('duplicate field "spec.name"');
    expect(refusal('{"spec":[{},{"a":1,"\\u0061":1}]}')).to.equal('duplicate field "spec[1].a"');
    expect(parseJson('{"a":{"name":1},"b":{"name":"a:b"}}', limits)).to.deep.equal({
      a: { name: 1 },
      b: { name: 'a:b' },
    });
  });

  it('refuses fields named __proto__, even if an escape sequence spells the name', () => {
    expect(refusal('{"spec":{"__proto__":{}}}')).to.equal('the field "spec.__proto__" has a name that is not allowed');
    expect(refusal('{"\\u005f_proto__":1}')).to.equal('the field "__proto__" has a name that is not allowed');
    expect(parseJson('{"a":"__proto__"}', limits)).to.deep.equal({ a: '__proto__' });
  });

  it('refuses unpaired surrogates in values and names', () => {
    expect(refusal('{"a":["\\ud83d"]}')).to.equal(
      'the field "a[0]" has half of a surrogate pair, which UTF-8 cannot encode',
    );
    expect(refusal('{"\\uDCA9":1}')).to.contain('half of a surrogate pair');
    expect(parseJson('"\\ud83d\\udca9"', limits)).to.equal('💩');
  });

  it('refuses numbers outside the range of a double', () => {
    expect(refusal('{"a":{"b":1e999}}')).to.equal('the field "a.b" has a number that is too large');
    expect(refusal('-1e999')).to.equal('the body has a number that is too large');
  });

  it('refuses a text that is nested too deeply, and does not parse it', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    expect(parseJson(nested(64), limits)).to.be.an('array');
    expect(refusal(nested(65))).to.equal('the body nests deeper than 64 levels');
    expect(refusal('{"a":'.repeat(1_000_000))).to.equal('the body nests deeper than 64 levels');
    expect(parseJson(JSON.stringify('['.repeat(100)), limits)).to.equal('['.repeat(100));
  });

  it('refuses a long text with too many fields or items, and does not parse it', () => {
    const padding = ' '.repeat(uncountedLength);
    const refusalOf = (text: string): string =>
      refusal(`${padding}${text}`, { maxDepth: 64, maxFields: 3, maxNodes: 8 });
    expect(refusalOf('{"a":1,"b":{"c":1,"d":2,"e":3},"f":1,"g":1}')).to.equal(
      'Request entity too large: a JSON object has more than 3 fields',
    );
    expect(refusalOf('[{"a":1},[1,2],[[]],3,4,')).to.equal('Request entity too large: more than 8 fields and items');
    const within = { maxDepth: 64, maxFields: 3, maxNodes: 8 };
    expect(parseJson(`${padding}{"a":{"x":"{,,,,,:"},"b":{"x":1,"y":2},"c":3}`, within)).to.have.keys('a', 'b', 'c');
    expect(() => parseJson(`${padding}]]]}}}:::,,,`, within)).to.throw('not valid JSON');
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
