import { expect } from 'chai';
import { JsonPath } from './json-path.ts';

const object = {
  metadata: { name: 'ann', labels: { 'example.com/team': 'red', 'a]b': 'odd' } },
  spec: { age: 30, tags: ['a', 'b'], ports: [{ name: 'http' }, { name: 'dns', number: 53 }], nothing: null },
  status: {
    conditions: [
      { type: 'Ready', status: 'False', count: 1 },
      { type: 'Done', status: 'True', count: 3 },
    ],
  },
};

describe('JsonPath.firstIn', () => {
  const found: readonly (readonly [path: string, value: unknown])[] = [
    ['.metadata.name', 'ann'],
    ['.spec.age', 30],
    ['.spec.nothing', null],
    ['.spec.tags', ['a', 'b']],
    ['.spec.tags[1]', 'b'],
    ['.spec.tags[-2]', 'a'],
    ['.spec.tags[*]', 'a'],
    ['.spec.ports[*].number', 53],
    ['.spec.*', 30],
    ['.metadata.labels.example\\.com/team', 'red'],
    [".metadata.labels['example.com/team']", 'red'],
    ['.metadata.labels["a]b"]', 'odd'],
    ['.status.conditions[?(@.type=="Ready")].status', 'False'],
    [".status.conditions[?( @.type == 'Done' )].status", 'True'],
    ['.status.conditions[?(@.count>1)].type', 'Done'],
    ['.status.conditions[?(@.count>=1)].type', 'Ready'],
    ['.status.conditions[?(@.count<2)].type', 'Ready'],
    ['.status.conditions[?(@.count<=0.5)].type', undefined],
    ['.status.conditions[?(@.type<"E")].type', 'Done'],
    ['.status.conditions[?(@.count<"2")].type', undefined],
    ['.status.conditions[?(@.type!="Ready")].type', 'Done'],
    ['.spec.ports[?(@.number)].name', 'dns'],
    ['.spec.ports[?(@.missing != 1)].name', undefined],
    ['.spec.missing.deeper', undefined],
    ['.spec.tags.length', undefined],
    ['.spec.tags[9]', undefined],
    ['.spec.age[0]', undefined],
    ['.spec[0]', undefined],
    ['.constructor', undefined],
    ['.__proto__', undefined],
  ];
  for (const [path, value] of found) {
    it(`finds ${JSON.stringify(value)} at ${path}`, () => {
      expect(new JsonPath(path).firstIn(object)).to.deep.equal(value);
    });
  }
});

describe('new JsonPath', () => {
  const refused: readonly (readonly [path: string, problem: string])[] = [
    ['', 'must start with a dot'],
    ['spec.name', 'must start with a dot'],
    ['{.spec.name}', 'must start with a dot'],
    ['.', 'from character 1 on'],
    ['..name', 'from character 1 on'],
    ['.spec.', 'from character 6 on'],
    ['.spec.na me', 'from character 9 on'],
    ['.spec[0:2]', 'from character 6 on'],
    ['.spec[a]', 'from character 6 on'],
    ["['spec", 'must start with a dot'],
    [".spec['name", 'from character 6 on'],
    ['.spec[?(@.a==b)]', 'from character 12 on'],
    ['.spec[?(@.a[*]==1)]', 'from character 12 on'],
    ['.spec[?(@.a==007)]', 'from character 15 on'],
    ['.spec[?(@.a==1]', 'from character 15 on'],
    ['.spec\\', 'from character 6 on'],
    [`.${'a'.repeat(1024)}`, 'at most 1024 characters'],
  ];
  for (const [path, problem] of refused) {
    it(`refuses ${path.slice(0, 40)}: ${problem}`, () => {
      expect(() => new JsonPath(path)).to.throw(RangeError, problem);
    });
  }

  it('refuses malformed paths of a thousand characters quickly', () => {
    const paths = [`.${'\\a'.repeat(500)}[`, `.a${'[?(@'.repeat(250)}`, `.a['${'\\'.repeat(1000)}`];
    for (const path of paths) expect(() => new JsonPath(path)).to.throw(RangeError);
  });
});
