import { isApiError } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import fc from 'fast-check';
import { dump } from 'js-yaml';
import { parseYaml, parseYamlDocuments } from './yaml-body.ts';

const limits = { maxDepth: 64 };

function refusal(text: string): string {
  try {
    parseYaml(text, limits);
  } catch (error) {
    if (!isApiError(error)) throw error;
    expect(error.reason).to.equal('BadRequest');
    return error.message;
  }
  throw new Error(`accepted: ${text.slice(0, 100)}`);
}

describe('parseYaml', () => {
  it('returns every JSON value, from YAML and from JSON [slow]', () => {
    const values = fc.jsonValue({ depthSize: 'small' }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
    fc.assert(
      fc.property(values, (value) => {
        fc.pre(!JSON.stringify(value).includes('__proto__'));
        expect(parseYaml(dump(value), limits)).to.deep.equal(value);
        expect(parseYaml(JSON.stringify(value), limits)).to.deep.equal(value);
      }),
      { numRuns: 500 },
    );
  });

  it('uses the core schema of YAML 1.2, in which only true and false are booleans and no text is a date', () => {
    expect(parseYaml('a: 2024-01-01\nb: yes\nc: Y\nd: true\ne: 0o17\nf: 1.5', limits)).to.deep.equal({
      a: '2024-01-01',
      b: 'yes',
      c: 'Y',
      d: true,
      e: 15,
      f: 1.5,
    });
  });

  it('reads integers with a leading 0 as octal, as Kubernetes does', () => {
    expect(parseYaml('a: 0755\nb: -010\nc: "0755"\nd: 089\ne: 0\nf: 0x1F', limits)).to.deep.equal({
      a: 493,
      b: -8,
      c: '0755',
      d: 89,
      e: 0,
      f: 31,
    });
  });

  it('refuses values that JSON cannot represent, and names the field', () => {
    expect(refusal('a:\n  - .nan')).to.equal('the field "a[0]" has a number that JSON cannot represent');
    expect(refusal('a: .inf')).to.equal('the field "a" has a number that JSON cannot represent');
    expect(refusal('a: "\\ud800"')).to.contain('half of a surrogate pair');
    expect(refusal('a: !!timestamp 2024-01-01')).to.contain('at line 1, column 4');
  });

  it('refuses field names that are not strings, duplicate names and __proto__', () => {
    expect(refusal('1: a')).to.contain('names of fields must be strings');
    expect(refusal('null: a')).to.contain('names of fields must be strings');
    expect(refusal('? [a]\n: b')).to.contain('names of fields must be strings');
    expect(refusal('a: 1\nb: 2\na: 3')).to.equal('not valid YAML: duplicated mapping key at line 3, column 1');
    expect(refusal('a:\n  __proto__: {}')).to.contain('__proto__');
  });

  it('does not quote values of the body in its messages', () => {
    expect(refusal('password: hunter2\na: [1'))
      .to.match(/^not valid YAML: [^\n]+ at line 2, column \d+$/)
      .and.not.contain('hunter2');
  });

  it('refuses several documents, and an empty text', () => {
    expect(refusal('a: 1\n---\nb: 2')).to.equal('the body has 2 YAML documents; send one');
    expect(refusal('# nothing')).to.equal('the body has no YAML document');
    expect(parseYaml('---\na: 1\n---\n', limits)).to.deep.equal({ a: 1 });
  });

  it('returns a separate copy for each alias', () => {
    const value = parseYaml('a: &x {b: 1}\nc: *x', limits) as Record<string, object>;
    expect(value).to.deep.equal({ a: { b: 1 }, c: { b: 1 } });
    expect(value['a']).not.to.equal(value['c']);
  });

  it('refuses cycles, many aliases, and aliases that expand a small text into a large value [slow]', () => {
    expect(refusal('a: &x [*x]')).to.equal('the field "a[0]" is an alias of a value that contains it');
    expect(refusal(`a: &x 1\nb: [${Array.from({ length: 101 }, () => '*x').join()}]`)).to.contain('alias');
    const levels = Array.from({ length: 30 }, (_, level) => `l${level + 1}: &l${level + 1} [*l${level}, *l${level}]`);
    expect(refusal(['l0: &l0 [x]', ...levels].join('\n'))).to.equal(
      'the aliases of the YAML document make it too large',
    );
    expect(refusal(`a: &x ${'y'.repeat(100_000)}\nb: [${Array.from({ length: 90 }, () => '*x').join()}]`)).to.contain(
      'too large',
    );
  });

  it('refuses a document that is nested too deeply, also through aliases', () => {
    expect(refusal('['.repeat(65) + ']'.repeat(65))).to.match(/^not valid YAML: .*(depth|nest)/i);
    const chain = Array.from({ length: 70 }, (_, level) => `l${level + 1}: &l${level + 1} [*l${level}]`);
    expect(refusal(['l0: &l0 []', ...chain].join('\n'))).to.contain('nests deeper than 64 levels');
  });
});

describe('parseYamlDocuments', () => {
  it('returns number, line and value of each document, and skips empty ones', () => {
    const text = '# first\n\na: 1\n---\n# nothing here\n---\n\nb:\n  - 2\n---\nnull\n---\n';
    expect(parseYamlDocuments(text, limits)).to.deep.equal([
      { document: 1, line: 3, value: { a: 1 } },
      { document: 3, line: 8, value: { b: [2] } },
      { document: 4, line: 11, value: null },
    ]);
  });

  it('returns no documents for an empty text', () => {
    expect(parseYamlDocuments('', limits)).to.deep.equal([]);
    expect(parseYamlDocuments('---\n', limits)).to.deep.equal([]);
  });

  it('counts CRLF as one line ending', () => {
    expect(parseYamlDocuments('a: 1\r\n---\r\nb: 2', limits).map(({ line }) => line)).to.deep.equal([1, 3]);
  });
});
