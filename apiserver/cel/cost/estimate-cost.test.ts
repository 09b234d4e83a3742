import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { compileCel, isCelProblem } from '../evaluate/cel-expression.ts';
import { standardFunctions } from '../library/standard-functions.ts';
import { typeOfSchema } from '../schema/schema-type.ts';

type Make = (max: number | undefined) => JsonSchema;

const item = (type: string): JsonSchema => {
  if (type === 'int-or-string') return { 'x-kubernetes-int-or-string': true };
  const isFormat = ['duration', 'date', 'date-time'].includes(type);
  return isFormat ? { type: 'string', format: type } : { type: type as 'string' };
};
const sized = (key: 'maxItems' | 'maxLength' | 'maxProperties', max: number | undefined): JsonSchema =>
  max === undefined ? {} : { [key]: max };
const list =
  (type: string): Make =>
  (max) => ({ type: 'array', items: item(type), ...sized('maxItems', max) });
const map =
  (type: string): Make =>
  (max) => ({ type: 'object', additionalProperties: item(type), ...sized('maxProperties', max) });
const text: Make = (max) => ({ type: 'string', ...sized('maxLength', max) });
const lists: Make = (max) => ({
  type: 'array',
  items: { type: 'array', items: item('number') },
  ...sized('maxItems', max),
});
const texts: Make = (max) => ({ type: 'array', items: text(max), ...sized('maxItems', max) });
const pair: Make = (max) => ({ type: 'object', properties: { str: text(max), separator: text(max) } });
const bytes: Make = (max) => ({ type: 'string', format: 'byte', ...sized('maxLength', max) });

/**
 * The estimates of kube-apiserver for rules. `open` is the estimate for a schema without a limit, and `bounded` for a
 * schema with the limit `max`.
 */
const cases: readonly (readonly [rule: string, make: Make, open: number, max: number, bounded: number])[] = [
  ['self.all(x, true)', list('number'), 4_718_591, 10, 32],
  ['self.all(x, true)', list('string'), 3_145_727, 20, 62],
  ['self.all(x, true)', list('boolean'), 1_887_437, 5, 17],
  ['self.all(x, true)', lists, 3_145_727, 100, 302],
  ['self.all(x, true)', map('number'), 1_348_169, 10, 32],
  ['self.all(x, true)', map('string'), 1_179_647, 3, 11],
  ['self.all(x, true)', map('boolean'), 943_718, 100, 302],
  ["self.contains('test')", text, 314_574, 10, 5],
  ["self.startsWith('test')", text, 2, 15, 2],
  ["self.endsWith('test')", text, 2, 30, 2],
  ['size(self + "hello") > size("hello")', text, 314_578, 4, 7],
  ['self[1] == 0.0', list('number'), 2, 5000, 2],
  ['self[1] == self[1]', list('string'), 314_577, 8, 314_577],
  ['self.all(x, self.all(y, true))', list('number'), Infinity, 10, 352],
  ['self.all(x, self.all(y, self.all(z, true)))', list('number'), Infinity, 10, 3552],
  ['self.matches("x")', text, 314_574, 50, 22],
  ['"".matches("(((((((((())))))))))[0-9]")', text, 7, 10, 7],
  ['self.matches("")', text, 1, 100, 1],
  ['self["x"] == 0.0', map('number'), 2, 0, 2],
  ['self == "x"', text, 2, 0, 1],
  ['self == b"x"', bytes, 2, 0, 1],
  ['self.all(x, x == 0.0)', list('number'), 6_291_454, 6_291_456, 25_165_826],
  ['self.all(x, true)', list('int-or-string'), 4_718_591, 10, 32],
  ['self[0] == 5', list('int-or-string'), 3, 10, 3],
  ['self[0] == false', list('boolean'), 2, 25, 2],
  ['self[0][0] == -1.0', lists, 3, 51, 3],
  ['self.all(x, true)', list('duration'), 2_359_295, 5, 17],
  ['self[0].getHours() == 2', list('duration'), 4, 525, 4],
  ['self.all(x, true)', list('date'), 725_936, 15, 47],
  ['self[2].getDayOfMonth() == 13', list('date'), 4, 42, 4],
  ['self.all(x, true)', list('date-time'), 428_963, 25, 77],
  ['self[2].getMinutes() == 45', list('date-time'), 4, 99, 4],
  ['self.all(x, true)', map('int-or-string'), 1_348_169, 15, 47],
  ['self.all(x, true)', map('duration'), 1_048_577, 5, 17],
  ['self.all(x, true)', map('date'), 524_288, 10, 32],
  ['self.all(x, true)', map('date-time'), 349_526, 25, 77],
  ["self.find('[0-9]+') == ''", text, 629_147, 10, 11],
  ["self.join(' ') == 'aa bb'", texts, 329_853_068_905, 10, 43],
  ['self.isSorted() == true', texts, 329_854_432_052, 10, 52],
  ['self.str.split(self.separator) == []', pair, 629_160, 10, 22],
  ["self.lowerAscii() == 'lower!'", text, 314_575, 10, 6],
  ['oldSelf.size() == self.size()', map('integer'), 5, 10, 5],
  ['self["a"] == self["b"]', map('date-time'), 8, 7, 8],
  ['self["c"] == self["d"]', map('duration'), 8, 42, 8],
  ['isQuantity(self)', (max) => ({ ...item('int-or-string'), ...sized('maxLength', max) }), 314_574, 20, 9],
];

function costOf(rule: string, schema: JsonSchema): number {
  const type = typeOfSchema(schema, {}, false);
  if (type === undefined) throw new Error('the schema has no type');
  const variables = new Map([
    ['self', type],
    ['oldSelf', type],
  ]);
  const result = compileCel(rule, { functions: standardFunctions, variables });
  if (isCelProblem(result)) throw new Error(result.problem);
  return result.maxCost;
}

describe('estimates of costs [spec operators-estimate]', () => {
  for (const [index, [rule, make, open, max, bounded]] of cases.entries()) {
    it(`equal those of kube-apiserver for rule ${index}: ${rule}`, () => {
      const cost = costOf(rule, make(undefined));
      if (open === Infinity) expect(cost).to.be.greaterThan(10_000_000);
      else expect(cost).to.equal(open);
      expect(costOf(rule, make(max))).to.equal(bounded);
    });
  }

  it('depend on the maximum size of each list or map that a macro or a function returns', () => {
    // The cost is 11 for a new list, 3 for a round of `all`, and 13 for a round of `map` or `filter`.
    const ofLists: readonly (readonly [rule: string, make: Make, cost: number])[] = [
      ['self.map(x, x).all(y, true)', list('number'), 93],
      ['self.filter(x, true).all(y, true)', list('number'), 93],
      ['self.transformList(i, v, v).all(y, true)', list('number'), 93],
      ['self.reverse().all(y, true)', list('number'), 33],
      ['self.sort().all(y, true)', list('number'), 138],
      ['self.sortBy(x, x).all(y, true)', list('number'), 226],
      ['self.distinct().all(y, true)', list('number'), 138],
      ['self.slice(1, 3).all(y, true)', list('number'), 21],
      ['self.slice(0, size(self)).all(y, true)', list('number'), 35],
      ['self.flatten().all(y, true)', lists, 33],
      ['lists.range(3).all(y, true)', list('number'), 24],
    ];
    for (const [rule, make, cost] of ofLists) expect(costOf(rule, make(5)), rule).to.equal(cost);
    expect(costOf('self.transformMap(k, v, v).all(k, true)', map('number')(5))).to.be.lessThan(300);
  });

  it('use the length of the longest value of an enum as the maximum length of the text', () => {
    expect(costOf("self.contains('A')", { type: 'string', enum: ['A', 'B', 'LongValue'] })).to.equal(2);
  });

  it('use the maximum length of names for metadata.name, also when the schema has no limit', () => {
    const schema: JsonSchema = { type: 'object', properties: { metadata: { type: 'object' } } };
    const type = typeOfSchema(schema, {}, true);
    const variables = new Map([['self', type ?? { kind: 'dyn' as const }]]);
    const result = compileCel('self.metadata.name.contains("a")', { functions: standardFunctions, variables });
    expect(isCelProblem(result) ? result.problem : result.maxCost).to.be.lessThan(200);
  });
});
