import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { ApiError } from '../errors/errors.ts';
import { formatSelector } from './format-selector.ts';
import { matchesLabels } from './match-selector.ts';
import { parseFieldSelector, parseLabelSelector } from './parse-selector.ts';
import type { Requirement, Selector } from './selector.ts';

interface SelectorCase {
  readonly selector: string;
  readonly valid: boolean;
  readonly canonical?: string;
  readonly matches?: readonly number[];
}

interface FieldCase extends SelectorCase {
  readonly requirements?: readonly { readonly field: string; readonly op: string; readonly value: string }[];
}

type ValueMap = Readonly<Record<string, string>>;

function load(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../../../test/vectors/${name}.json`, import.meta.url), 'utf8'));
}

const labelVectors = load('label-selectors') as { cases: readonly SelectorCase[]; labelSets: readonly ValueMap[] };
const fieldVectors = load('field-selectors') as {
  cases: readonly FieldCase[];
  escape: readonly { raw: string; escaped: string }[];
  fieldSets: readonly ValueMap[];
};

function parses(parse: () => Selector): boolean {
  try {
    parse();
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.reason === 'BadRequest') return false;
    throw error;
  }
}

function messageOf(parse: () => Selector): string {
  try {
    return formatSelector(parse());
  } catch (error) {
    return (error as Error).message;
  }
}

function matching(selector: Selector, sets: readonly ValueMap[]): number[] {
  return [...sets.keys()].filter((index) => matchesLabels(selector, sets[index]));
}

/**
 * Converts a recorded text of Kubernetes to our canonical form, in which a single value is written with `=` or `!=`,
 * even if the input had a set.
 */
function normalised(canonical: string): string {
  return canonical
    .replaceAll('==', '=')
    .replace(/ in \(([^,()]*)\)/g, '=$1')
    .replace(/ notin \(([^,()]*)\)/g, '!=$1');
}

describe('parseLabelSelector', () => {
  it('accepts and refuses the same selectors as Kubernetes, and selects the same objects', () => {
    for (const { selector: text, valid, canonical, matches } of labelVectors.cases) {
      expect(
        parses(() => parseLabelSelector(text)),
        JSON.stringify(text),
      ).to.equal(valid);
      if (!valid) continue;
      const selector = parseLabelSelector(text);
      expect(formatSelector(selector), JSON.stringify(text)).to.equal(normalised(canonical ?? ''));
      expect(matching(selector, labelVectors.labelSets), JSON.stringify(text)).to.deep.equal(matches);
    }
  });

  it('accepts a set in the form key=(a,b) of the specification, which Kubernetes refuses', () => {
    const set = [{ key: 'a', operator: 'in', values: ['b', 'c'] }];
    expect(parseLabelSelector('a=(c, b)')).to.deep.equal(set);
    expect(parseLabelSelector('a == ( b,c,b )')).to.deep.equal(set);
    expect(parseLabelSelector('a!=(b,c)')).to.deep.equal([{ ...set[0], operator: 'notin' }]);
  });

  it('joins the requirements of repeated parameters', () => {
    const selector = parseLabelSelector(['a=b', '', 'c,!d']);
    expect(formatSelector(selector)).to.equal('a=b,c,!d');
  });

  it('names the character at which the text becomes invalid', () => {
    expect(messageOf(() => parseLabelSelector('a=b c'))).to.equal(
      'labelSelector: found "c" at character 5, expected an operator, \',\' or the end in "a=b c"',
    );
    expect(messageOf(() => parseLabelSelector('a in (b'))).to.contain('found the end at character 8');
    expect(messageOf(() => parseLabelSelector('x,-y=1'))).to.contain('at character 3');
    expect(messageOf(() => parseLabelSelector('a>x'))).to.contain('found "x" at character 3, expected a whole number');
  });

  it('limits the length of the text and the numbers of requirements and values, and the length of the message for a hostile text', () => {
    const values = (count: number): string => Array.from({ length: count }, (_, index) => `v${index}`).join();
    expect(messageOf(() => parseLabelSelector('a'.repeat(16 * 1024 + 1)))).to.contain('at most 16384 characters');
    expect(messageOf(() => parseLabelSelector(Array.from({ length: 101 }, () => 'a').join()))).to.contain(
      'requirements',
    );
    expect(messageOf(() => parseLabelSelector(`a in (${values(1001)})`))).to.contain('at most 1000 values');
    expect(parseLabelSelector(`a in (${values(1000)})`)[0]?.values).to.have.length(1000);
    for (const text of ['(', '!', 'a in (', ' ', 'a=\\', '\\,']) {
      const hostile = text.repeat(Math.floor((16 * 1024) / text.length));
      expect(messageOf(() => parseLabelSelector(hostile)).length).to.be.lessThan(4096);
      expect(messageOf(() => parseFieldSelector(hostile)).length).to.be.lessThan(4096);
    }
  });
});

/**
 * The recorded cases that Kubernetes parses differently, each with the reason. The differences exist because we have
 * one grammar for label selectors and field selectors.
 */
const fieldDeviations: Readonly<Record<string, string>> = {
  'x=a,b': 'a bare field means that it has a value',
  x: 'a bare field means that it has a value',
  'metadata.name': 'a bare field means that it has a value',
  'x in (a,b,c)': 'in and notin work in both selectors',
  'a in (b,c)': 'in and notin work in both selectors',
  'a notin (b)': 'in and notin work in both selectors',
  'metadata.name = a': 'white space around operators is not part of the field or the value',
  'metadata.name=a ': 'white space around operators is not part of the field or the value',
  '=a': 'there is no field without a name',
  'a=(b)': 'a value in parentheses is a set',
  'a=(b\\,c)': 'a value in parentheses is a set',
  'a = (b, c)': 'a value in parentheses is a set',
  'a=': 'an object without the field does not match an empty value',
  'a!=': 'an object without the field does not match an empty value',
};

function requirementOf({ field, op, value }: { field: string; op: string; value: string }): Requirement {
  return { key: field, operator: op === '!=' ? 'notin' : 'in', values: [value] };
}

describe('parseFieldSelector', () => {
  it('parses the recorded cases as Kubernetes does, except the listed deviations', () => {
    const others = fieldVectors.cases.filter(({ selector }) => !(selector in fieldDeviations));
    for (const { selector: text, valid, requirements: recorded, matches, canonical } of others) {
      expect(
        parses(() => parseFieldSelector(text)),
        text,
      ).to.equal(valid);
      if (!valid) continue;
      const selector = parseFieldSelector(text);
      expect(selector, text).to.deep.equal(recorded?.map(requirementOf));
      expect(matching(selector, fieldVectors.fieldSets), text).to.deep.equal(matches);
      expect(formatSelector(selector), text).to.equal(canonical);
    }
  });

  it('differs from Kubernetes in each case of the list of deviations', () => {
    for (const [text, reason] of Object.entries(fieldDeviations)) {
      const recorded = fieldVectors.cases.find(({ selector }) => selector === text);
      expect(recorded, text).not.to.equal(undefined);
      if (!parses(() => parseFieldSelector(text))) {
        expect(recorded?.valid, `${text}: ${reason}`).to.equal(true);
        continue;
      }
      const matches = matching(parseFieldSelector(text), fieldVectors.fieldSets);
      const isSame = recorded?.valid === true && formatSelector(parseFieldSelector(text)) === recorded.canonical;
      expect(isSame && String(matches) === String(recorded.matches), `${text}: ${reason}`).to.equal(false);
    }
  });

  it('accepts sets, their complements, and the presence and absence of a field', () => {
    expect(parseFieldSelector('spec.tags=(v2, v1),a != (b\\,c),d,!e')).to.deep.equal([
      { key: 'spec.tags', operator: 'in', values: ['v1', 'v2'] },
      { key: 'a', operator: 'notin', values: ['b,c'] },
      { key: 'd', operator: 'exists', values: [] },
      { key: 'e', operator: 'absent', values: [] },
    ]);
  });

  it('reads an escaped parenthesis, comma, equals sign, backslash or space as a part of the value', () => {
    expect(parseFieldSelector('a=\\(b\\,c\\=d\\)\\\\\\ ')).to.deep.equal([
      { key: 'a', operator: 'in', values: ['(b,c=d)\\ '] },
    ]);
    expect(messageOf(() => parseFieldSelector('a=b\\c'))).to.contain('at character 5');
  });

  it('refuses < and >', () => {
    expect(messageOf(() => parseFieldSelector('spec.age>5'))).to.contain('found ">" at character 9');
    expect(messageOf(() => parseFieldSelector('spec.age < 5'))).to.contain('found "<" at character 10');
  });

  it('reads values with the escapes that Kubernetes writes, unless a value starts with a parenthesis or has outer white space', () => {
    const others = fieldVectors.escape.filter(({ raw }) => raw.trim() === raw && !raw.startsWith('('));
    expect(others).to.have.length.above(0);
    for (const { raw, escaped } of others) {
      expect(formatSelector([{ key: 'a', operator: 'in', values: [raw] }])).to.equal(`a=${escaped}`);
      expect(parseFieldSelector(`a=${escaped}`)[0]?.values).to.deep.equal([raw]);
    }
  });
});

const sortedByKey = (unsorted: Requirement[]): Selector =>
  unsorted.sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));

function requirements(key: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<Selector> {
  const values = fc.uniqueArray(value, { minLength: 1, maxLength: 4 }).map((list) => list.sort());
  const listed = fc.record({ key, operator: fc.constantFrom('in' as const, 'notin' as const), values });
  const bare = fc.record({
    key,
    operator: fc.constantFrom('exists' as const, 'absent' as const),
    values: fc.constant([]),
  });
  return fc.array(fc.oneof(listed, bare), { maxLength: 5 }).map(sortedByKey);
}

describe('formatSelector', () => {
  it('returns a text that parses to an equal label selector', () => {
    const key = fc.constantFrom('a', 'in', 'notin', 'example.com/B_c', '0');
    const value = fc.stringMatching(/^([A-Za-z0-9]([-A-Za-z0-9_.]{0,5}[A-Za-z0-9])?)?$/);
    const compared = fc.record({
      key,
      operator: fc.constantFrom('gt' as const, 'lt' as const),
      values: fc.bigInt(0n, 2n ** 63n - 1n).map((limit) => [String(limit)]),
    });
    const selectors = fc.tuple(requirements(key, value), fc.array(compared, { maxLength: 2 }));
    fc.assert(
      fc.property(selectors, ([some, others]) => {
        const selector = sortedByKey([...some, ...others]);
        expect(parseLabelSelector(formatSelector(selector))).to.deep.equal(selector);
      }),
    );
  });

  it('returns a text that parses to an equal field selector, for any values', () => {
    const key = fc.constantFrom('metadata.name', 'spec.x', 'a[0]', 'ключ');
    const special = fc.string({
      unit: fc.constantFrom('\\', ',', '=', '(', ')', ' ', '\t', '\n', '\u00a0', 'a', '😀'),
    });
    fc.assert(
      fc.property(requirements(key, fc.oneof(special, fc.string())), (selector) => {
        expect(parseFieldSelector(formatSelector(selector))).to.deep.equal(selector);
      }),
      { numRuns: 1000 },
    );
  });
});
