import { readFileSync } from 'node:fs';
import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { allSteps } from '../../turns/steps.ts';
import { judgeRules } from './judge-rules.ts';
import type { RuleVerdict } from './judge-rules.ts';
import { compileRuleTree } from './rule-tree.ts';

/** The schemas of fields, by name. */
type Fields = Readonly<Record<string, JsonSchema>>;

const integer = { type: 'integer' } as const;
const text = { type: 'string' } as const;

function judge(root: JsonSchema, next: object, previous?: object, components: Fields = {}): RuleVerdict {
  const tree = compileRuleTree(root, components, (field, detail) => {
    throw new Error(`${field}: ${detail}`);
  });
  if (tree === undefined) throw new Error('the schema has no rules');
  return allSteps(judgeRules(tree, next, previous));
}

/** Returns the violations that the rules of a schema find in a value, each as `<field>: <message>`. */
function refusals(schema: JsonSchema, next: unknown, previous?: unknown): readonly string[] {
  const root: JsonSchema = { type: 'object', properties: { spec: schema } };
  const old = previous === undefined ? undefined : { spec: previous };
  return judge(root, { spec: next }, old).causes.map(({ field, message }) => `${field}: ${message}`);
}

function object(properties: Fields, ...rules: readonly string[]): JsonSchema {
  return { type: 'object', properties, 'x-kubernetes-validations': rules.map((rule) => ({ rule })) };
}

const failed = (rule: string, field = 'spec', type = 'object'): string =>
  `${field}: Invalid value: "${type}": failed rule: ${rule}`;

/** Each case has the fields of a schema, a rule, a value that the rule allows, and a value that it refuses. */
const table: readonly (readonly [what: string, rule: string, fields: Fields, allowed: unknown, refused: unknown])[] = [
  ['integers', 'self.a < self.b', { a: integer, b: integer }, { a: 1, b: 2 }, { a: 2, b: 2 }],
  ['numbers', 'self.a < 1.5', { a: { type: 'number' } }, { a: 1 }, { a: 2 }],
  [
    'booleans',
    'self.a || self.b',
    { a: { type: 'boolean' }, b: { type: 'boolean' } },
    { a: true, b: false },
    { a: false, b: false },
  ],
  ['absent fields', 'has(self.a) != has(self.b)', { a: integer, b: integer }, { a: 1 }, {}],
  [
    'null',
    'self.a == null || self.a.b > 1',
    { a: { type: 'object', properties: { b: integer }, nullable: true } },
    { a: null },
    { a: { b: 0 } },
  ],
  ['optional fields', 'self.?a.orValue(1) > 0', { a: integer }, {}, { a: 0 }],
  ['lists', 'self.l.all(x, x in [1, 2])', { l: { type: 'array', items: integer } }, { l: [1, 2, 1] }, { l: [3] }],
  ['lists in order', 'self.l == [1, 2]', { l: { type: 'array', items: integer } }, { l: [1, 2] }, { l: [2, 1] }],
  [
    'sets, whose order does not count',
    'self.s == ["a", "b"] && self.s + ["a"] == self.s',
    { s: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' } },
    { s: ['b', 'a'] },
    { s: ['b'] },
  ],
  [
    'lists with keys, whose order does not count',
    'self.a == self.b',
    Object.fromEntries(
      ['a', 'b'].map((name) => [
        name,
        {
          type: 'array',
          items: { type: 'object', properties: { k: text, v: integer } },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
        } satisfies JsonSchema,
      ]),
    ),
    {
      a: [
        { k: 'x', v: 1 },
        { k: 'y', v: 2 },
      ],
      b: [
        { k: 'y', v: 2 },
        { k: 'x', v: 1 },
      ],
    },
    { a: [{ k: 'x', v: 1 }], b: [{ k: 'x', v: 2 }] },
  ],
  [
    'maps',
    'self.m.all(k, self.m[k] > 0)',
    { m: { type: 'object', additionalProperties: integer } },
    { m: { a: 1 } },
    { m: { a: 0 } },
  ],
  [
    'maps by two variables',
    'self.m.all(k, v, k.startsWith("a") && v > 0)',
    { m: { type: 'object', additionalProperties: integer } },
    { m: { a: 1 } },
    { m: { b: 1 } },
  ],
  [
    'keys that are names of JavaScript',
    'self.m.all(k, k != "bad") && "constructor" in self.m',
    { m: { type: 'object', additionalProperties: integer } },
    { m: { constructor: 1 } },
    { m: { a: 1 } },
  ],
  [
    'numbers or texts',
    'type(self.p) == int ? self.p < 100 : self.p.endsWith("%")',
    { p: { 'x-kubernetes-int-or-string': true } },
    { p: '50%' },
    { p: 100 },
  ],
  [
    'dates',
    'self.d < timestamp("2021-01-01T00:00:00Z")',
    { d: { type: 'string', format: 'date' } },
    { d: '2020-05-05' },
    { d: '2022-01-01' },
  ],
  [
    'times',
    'self.t.getFullYear() == 2020',
    { t: { type: 'string', format: 'date-time' } },
    { t: '2020-05-05T01:02:03Z' },
    { t: '2021-05-05T01:02:03Z' },
  ],
  ['durations', 'self.d <= duration("1h")', { d: { type: 'string', format: 'duration' } }, { d: '30m' }, { d: '2h' }],
  ['bytes', 'size(self.b) == 3', { b: { type: 'string', format: 'byte' } }, { b: 'YWJj' }, { b: 'YQ==' }],
  ['amounts', 'quantity(self.q).isLessThan(quantity("2Gi"))', { q: text }, { q: '1500Mi' }, { q: '3Gi' }],
  ['names with a dash', 'self.a__dash__b > 0', { 'a-b': integer }, { 'a-b': 1 }, { 'a-b': 0 }],
  [
    'names with a dot and a slash',
    'self.a__dot__b__slash__c > 0',
    { 'a.b/c': integer },
    { 'a.b/c': 1 },
    { 'a.b/c': 0 },
  ],
  ['names with two underscores', 'self.a__underscores__b > 0', { a__b: integer }, { a__b: 1 }, { a__b: 0 }],
  [
    'names that are keywords',
    'self.__in__ > 0 && self.__namespace__ == "x"',
    { in: integer, namespace: text },
    { in: 1, namespace: 'x' },
    { in: 0, namespace: 'x' },
  ],
  [
    'embedded resources',
    'self.r.kind == "Pod" && self.r.metadata.name != "" && self.r.apiVersion == "v1"',
    { r: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true } },
    { r: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } } },
    { r: { apiVersion: 'v1', kind: 'Job', metadata: { name: 'a' } } },
  ],
  [
    'objects',
    'self.o == self.p',
    { o: object({ a: integer }), p: object({ a: integer }) },
    { o: { a: 1 }, p: { a: 1 } },
    { o: { a: 1 }, p: { a: 2 } },
  ],
];

/**
 * The cases whose rules compare two objects. `==` accepts only operands of one type, and the schemas of two objects are
 * different types even when their fields are the same. So the test converts one operand with `dyn`.
 */
const needsOneType = new Set(['objects', 'lists with keys, whose order does not count']);

describe('rules of schemas', () => {
  for (const [what, rule, fields, allowed, refused] of table) {
    it(`allow a value only if their CEL expression is true; the expression uses ${what} [spec operators-rule-values]`, () => {
      const shared = needsOneType.has(what)
        ? rule.replace('self.a', 'dyn(self.a)').replace('self.o', 'dyn(self.o)')
        : rule;
      const schema = object(fields, shared);
      expect(refusals(schema, allowed)).to.deep.equal([]);
      expect(refusals(schema, refused)).to.deep.equal([failed(shared)]);
    });
  }

  it('read only name and generateName in the metadata of the root object, and no undeclared metadata of a field that is not an embedded resource [spec operators-rule-metadata]', () => {
    const root = object({}, "self.metadata.name != 'bad' && self.kind == 'K'");
    expect(judge(root, { kind: 'K', metadata: { name: 'good' } }).causes).to.deep.equal([]);
    expect(judge(root, { kind: 'K', metadata: { name: 'bad' } }).causes).to.have.length(1);
    expect(judge(root, { kind: 'K', metadata: { name: 'bad' } }).causes[0]?.field).to.equal('<nil>');
    const drawn = object({}, "has(self.metadata.generateName) && self.metadata.generateName == 'a-'");
    expect(judge(drawn, { metadata: { name: 'a-1', generateName: 'a-' } }).causes).to.deep.equal([]);
    expect(judge(drawn, { metadata: { name: 'a-1' } }).causes).to.have.length(1);
    expect(() => refusals(object({}, "self.metadata.name == ''"), {})).to.throw("undefined field 'metadata'");
    expect(() => judge(object({}, 'self.metadata.labels.size() > 0'), {})).to.throw("undefined field 'labels'");
  });

  it('cannot read fields whose schema allows any value', () => {
    const schema = object({ a: { 'x-kubernetes-preserve-unknown-fields': true } }, 'self.a > 1');
    expect(() => refusals(schema, {})).to.throw("undefined field 'a'");
  });

  it('are evaluated for fields, for items of lists and for entries of maps', () => {
    const positive: JsonSchema = { ...integer, 'x-kubernetes-validations': [{ rule: 'self > 0' }] };
    const schema: JsonSchema = {
      type: 'object',
      properties: {
        n: positive,
        l: { type: 'array', items: positive },
        m: { type: 'object', additionalProperties: positive },
      },
    };
    expect(refusals(schema, { n: 0, l: [1, 0], m: { a: 0 } })).to.deep.equal([
      failed('self > 0', 'spec.n', 'integer'),
      failed('self > 0', 'spec.l[1]', 'integer'),
      failed('self > 0', 'spec.m.a', 'integer'),
    ]);
    expect(refusals(schema, { n: null })).to.deep.equal([]);
  });

  it('are evaluated in referenced schemas, even if a schema refers to itself', () => {
    const components: Fields = {
      Node: object({ value: integer, next: { $ref: '#/components/schemas/Node' } }, 'self.value > 0'),
    };
    const root: JsonSchema = { type: 'object', properties: { spec: { $ref: '#/components/schemas/Node' } } };
    const next = { spec: { value: 1, next: { value: 2, next: { value: 0 } } } };
    expect(judge(root, next, undefined, components).causes.map(({ field }) => field)).to.deep.equal(['spec.next.next']);
  });

  describe('messages [spec operators-rule-messages]', () => {
    const withRule = (rest: object): JsonSchema => ({
      type: 'object',
      properties: { a: integer, 'x-y': integer },
      'x-kubernetes-validations': [{ rule: 'self.a > 0', ...rest }],
    });
    const messages: readonly (readonly [rest: object, message: string])[] = [
      [{}, 'spec: Invalid value: "object": failed rule: self.a > 0'],
      [{ message: ' must be positive ' }, 'spec: Invalid value: "object": must be positive'],
      [{ messageExpression: '"a is %d".format([self.a])' }, 'spec: Invalid value: "object": a is 0'],
      [{ message: 'plain', messageExpression: '"made"' }, 'spec: Invalid value: "object": made'],
      [{ message: 'plain', messageExpression: '""' }, 'spec: Invalid value: "object": plain'],
      [{ message: 'plain', messageExpression: '"a\\nb"' }, 'spec: Invalid value: "object": plain'],
      [{ message: 'plain', messageExpression: '[""][1]' }, 'spec: Invalid value: "object": plain'],
      [{ reason: 'FieldValueForbidden' }, 'spec: Forbidden: failed rule: self.a > 0'],
      [{ reason: 'FieldValueRequired', message: 'a' }, 'spec: Required value: a'],
      [{ reason: 'FieldValueDuplicate' }, 'spec: Duplicate value: "object"'],
      [{ fieldPath: '.a' }, 'spec.a: Invalid value: "object": failed rule: self.a > 0'],
      [{ fieldPath: "['x-y']" }, 'spec.x-y: Invalid value: "object": failed rule: self.a > 0'],
    ];
    for (const [rest, message] of messages)
      it(message + JSON.stringify(rest), () => expect(refusals(withRule(rest), { a: 0 })).to.deep.equal([message]));

    it('contain the error when the evaluation of the rule fails', () => {
      expect(refusals(object({ a: integer }, '1 / self.a > 0'), { a: 0 })).to.deep.equal([
        'spec: Invalid value: "object": division by zero evaluating rule: 1 / self.a > 0',
      ]);
      expect(refusals(object({ a: integer }, 'self.a > 0'), {})).to.deep.equal([
        'spec: Invalid value: "object": no such key: a evaluating rule: self.a > 0',
      ]);
      expect(refusals(object({ p: { 'x-kubernetes-int-or-string': true } }, 'self.p > 0'), { p: 'a' })).to.deep.equal([
        'spec: Invalid value: "object": \'no such overload\': call arguments did not match a supported operator, function or macro signature for rule: self.p > 0',
      ]);
    });
  });

  describe('in updates', () => {
    const immutable = object({ a: integer }, 'self.a == oldSelf.a');

    it('are not evaluated for a value that has no old value if they use oldSelf [spec operators-rule-transitions]', () => {
      expect(refusals(immutable, { a: 1 })).to.deep.equal([]);
      expect(refusals(immutable, { a: 1 }, { a: 1 })).to.deep.equal([]);
      expect(refusals(immutable, { a: 2 }, { a: 1 })).to.deep.equal([failed('self.a == oldSelf.a')]);
    });

    it('are evaluated for a value that has no old value if they use oldSelf and set optionalOldSelf [spec operators-rule-transitions]', () => {
      const rule = 'oldSelf.hasValue() || self.a == 0';
      const schema = { ...object({ a: integer }), 'x-kubernetes-validations': [{ rule, optionalOldSelf: true }] };
      expect(refusals(schema, { a: 1 })).to.deep.equal([failed(rule)]);
      expect(refusals(schema, { a: 0 })).to.deep.equal([]);
      expect(refusals(schema, { a: 1 }, { a: 0 })).to.deep.equal([]);
    });

    it('in a list of type map, oldSelf is the old item with the same keys; in other lists, rules with oldSelf skip the items [spec operators-rule-transitions]', () => {
      const items = object({ k: text, v: integer }, 'self.v >= oldSelf.v');
      const keyed: JsonSchema = {
        type: 'array',
        items,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
      };
      const before = [
        { k: 'a', v: 1 },
        { k: 'b', v: 5 },
      ];
      expect(
        refusals(
          keyed,
          [
            { k: 'b', v: 5 },
            { k: 'a', v: 0 },
          ],
          before,
        ),
      ).to.deep.equal([failed('self.v >= oldSelf.v', 'spec[1]')]);
      expect(refusals({ type: 'array', items }, [{ k: 'a', v: 0 }], before)).to.deep.equal([]);
    });

    it('only cause a warning for a violation in a value that the write does not change [spec operators-rule-ratcheting]', () => {
      const schema = object({ o: object({ a: integer }, 'self.a > 0'), b: integer });
      const root: JsonSchema = { type: 'object', properties: { spec: schema } };
      const before = { spec: { o: { a: 0 }, b: 1 } };
      const verdict = judge(root, { spec: { o: { a: 0 }, b: 2 } }, before);
      expect(verdict.causes).to.deep.equal([]);
      expect(verdict.warnings.map(({ field }) => field)).to.deep.equal(['spec.o']);
      expect(judge(root, { spec: { o: { a: -1 }, b: 1 } }, before).causes).to.have.length(1);
    });

    it('do not refuse a wrong item of an unchanged list, but refuse a wrong item of a changed list, even an old item', () => {
      const schema: JsonSchema = {
        type: 'array',
        items: { ...integer, 'x-kubernetes-validations': [{ rule: 'self > 0' }] },
      };
      expect(refusals(schema, [0, 1], [0, 1])).to.deep.equal([]);
      expect(refusals(schema, [0, 2], [0, 1])).to.deep.equal([failed('self > 0', 'spec[0]', 'integer')]);
    });
  });

  describe('with a high cost', () => {
    const items = Array.from({ length: 10_000 }, (_, index) => index);

    it('refuse the write when one rule exceeds its limit, and the rules after this rule are not evaluated [spec operators-cost]', () => {
      const rule = 'self.l.all(a, self.l.all(b, a + b >= 0))';
      const schema = object({ l: { type: 'array', items: integer } }, rule, 'false');
      expect(refusals(schema, { l: items })).to.deep.equal([
        `spec: Invalid value: "object": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ${rule}`,
      ]);
    });

    it('refuse the write when all rules together exceed their limit [slow] [spec operators-cost]', () => {
      const rules = Array.from(
        { length: 20 },
        (_, index) => `self.l.all(a, a + self.l.size() + a + a + a > -${index + 1}) && self.l.map(a, a).size() > 0`,
      );
      const schema = object({ l: { type: 'array', items: integer } }, ...rules, ...rules, ...rules);
      expect(refusals(schema, { l: items })).to.deep.equal([
        'spec: Invalid value: "object": validation failed due to running out of cost budget, no further validation rules will be run',
      ]);
    });

    it('let other requests run between two rules [spec operators-turns]', () => {
      const rules = Array.from({ length: 10 }, (_, index) => `self.l.all(a, a + self.l.size() + a > -${index + 1})`);
      const tree = compileRuleTree(
        { type: 'object', properties: { spec: object({ l: { type: 'array', items: integer } }, ...rules) } },
        {},
      );
      if (tree === undefined) throw new Error('the schema has no rules');
      const pauses = [...judgeRules(tree, { spec: { l: items } }, undefined)];
      expect(pauses.length).to.be.greaterThan(3);
      expect(new Set(pauses)).to.deep.equal(new Set(['long']));
    });
  });

  it('read each value of an object once, however many rules there are [spec operators-rule-once]', () => {
    let reads = 0;
    const item = {
      get size() {
        reads += 1;
        return 1;
      },
    };
    const schema = object(
      { l: { type: 'array', items: object({ size: integer }) } },
      'self.l.all(each, each.size < 2)',
      'self.l.all(each, each.size < 3)',
      'self.l[0].size == 1',
    );
    expect(refusals(schema, { l: [item] })).to.deep.equal([]);
    expect(reads).to.equal(1);
  });

  describe('report the same violations as Kubernetes in a recorded case', () => {
    interface Case {
      readonly name: string;
      readonly schema: JsonSchema;
      readonly input: object;
      readonly old?: object;
      readonly errors?: readonly string[];
    }
    const file = new URL('../../../../test/vectors/cr-validation.json', import.meta.url);
    const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: readonly Case[] };
    const withRules = cases.filter(({ schema }) => JSON.stringify(schema).includes('x-kubernetes-validations'));
    for (const { name, schema, input, old, errors = [] } of withRules) {
      it(name, () => {
        const found = judge(schema, input, old).causes.map(({ field, message }) => `${field}: ${message}`);
        expect([...found].sort()).to.deep.equal([...errors].sort());
      });
    }
  });
});
