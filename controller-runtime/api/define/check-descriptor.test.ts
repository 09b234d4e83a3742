import { expect } from 'chai';
import { checkDescriptor } from './check-descriptor.ts';
import type { DescriptorRules } from './check-descriptor.ts';
import { descriptorOf } from './descriptor.ts';
import { simpleAttribute } from '../indexes/index-attribute.ts';
import { IndexSpec } from '../model/index-spec.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import { ModelError } from '../errors/model-error.ts';
import type { ModelDescriptor } from '../model/model.ts';
import { Person } from '../person.fixture.ts';

const serviceDomain = 'homeostat.internal';
const person: ModelDescriptor = descriptorOf(Person);

const column = {
  name: 'Age',
  type: 'integer',
  jsonPath: '.spec.age',
  format: 'int32',
  description: 'Years',
  priority: 1,
};

function columns(count: number): readonly object[] {
  return Array.from({ length: count }, () => column);
}

function check(change: object, rules: Partial<DescriptorRules> = {}): void {
  checkDescriptor({ ...person, ...change }, { serviceDomain, ...rules });
}

function errorOf(run: () => void): ModelError {
  try {
    run();
  } catch (error) {
    if (error instanceof ModelError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

function withField(field: JsonSchema): object {
  return { components: { ...person.components, PersonStatus: { type: 'object', properties: { field } } } };
}

const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };

describe('checkDescriptor', () => {
  it('accepts the example model of the specification', () => {
    expect(() => check({})).not.to.throw();
  });

  it('accepts columns with every attribute that Kubernetes has', () => {
    expect(() => check({ printerColumns: columns(64) })).not.to.throw();
  });

  const refused: readonly (readonly [attribute: string, value: unknown, rule: string, id?: string])[] = [
    ['group', '', 'empty group is reserved', '2.1-group-empty'],
    ['group', 'people', 'at least one dot', '2.1-group-domain'],
    ['group', 'People.example.com', 'must be a domain', '2.1-group-domain'],
    ['group', '-x.example.com', 'must be a domain', '2.1-group-domain'],
    ['group', undefined, 'is missing'],
    ['group', 'homeostat.internal', 'is reserved', '2.1-group-service'],
    ['group', 'people.homeostat.internal', 'is reserved', '2.1-group-service'],
    ['version', '1', 'like v1'],
    ['version', 'v0', 'like v1'],
    ['version', 'v1gamma1', 'like v1'],
    ['version', 'v1beta', 'like v1'],
    ['kind', undefined, 'is missing', '2.1-kind'],
    ['kind', 'person', 'PascalCase'],
    ['kind', 'Per-son', 'PascalCase'],
    ['plural', 'Persons', 'DNS label', '2.1-plural'],
    ['plural', 'per.sons', 'DNS label'],
    ['plural', 'a'.repeat(64), 'DNS label'],
    ['plural', undefined, 'is missing', '2.1-plural'],
    ['plural', 'watch', 'paths use these words'],
    ['plural', 'namespaces', 'paths use these words'],
    ['plural', 'proxy', 'paths use these words'],
    ['singular', 'Person', 'DNS label', '2.1-singular'],
    ['scope', 'cluster', 'one of Cluster, Namespaced'],
    ['nameFormat', 'any', 'one of label, subdomain, path'],
    ['subresources', ['scale'], 'one of status'],
    ['scale', {}, 'specReplicasPath is missing; it must be fields joined by dots, below .spec'],
    ['scale', { ...scale, specReplicasPath: '.spec.parts[0]' }, 'specReplicasPath ".spec.parts[0]" must be fields'],
    ['scale', { ...scale, specReplicasPath: '.status.replicas' }, 'below .spec'],
    ['scale', { ...scale, statusReplicasPath: 'status.replicas' }, 'below .status'],
    ['scale', { ...scale, labelSelectorPath: '.metadata.name' }, 'below .spec or .status'],
    ['shortNames', ['P'], 'DNS label'],
    ['categories', ['A b'], 'DNS label'],
    [
      'printerColumns',
      [{ name: 'Age', type: 'integer', jsonPath: 'spec.age' }],
      'column 0: jsonPath "spec.age" must start with a dot',
    ],
    ['printerColumns', [{ ...column, jsonPath: '.a[b]' }], 'jsonPath ".a[b]" cannot be read from character 3 on'],
    ['printerColumns', [{ name: 'Age', type: 'integer' }], 'jsonPath is missing'],
    ['printerColumns', [column, { ...column, type: 'int' }], 'column 1: type "int" must be one of integer'],
    ['printerColumns', [{ type: 'integer', jsonPath: '.spec.age' }], 'name is missing'],
    ['printerColumns', [{ ...column, name: 'two\nlines' }], 'on one line'],
    ['printerColumns', [{ ...column, format: 'uuid' }], 'format "uuid" must be one of int32'],
    ['printerColumns', [{ ...column, description: 5 }], 'description 5 must be text'],
    ['printerColumns', [{ ...column, priority: -1 }], 'priority -1 must be a whole number from 0'],
    ['printerColumns', [{ ...column, priority: 0.5 }], 'priority 0.5 must be a whole number'],
    ['printerColumns', ['Age'], 'column 0: must be an object'],
    ['printerColumns', columns(65), 'at most 64 columns'],
    ['schemaName', 'Nobody', 'one of the components'],
  ];
  for (const [attribute, value, rule, id] of refused) {
    const shown = JSON.stringify(value)?.slice(0, 40) ?? 'undefined';
    it(`refuses ${attribute} ${shown}, naming attribute and rule${id === undefined ? '' : ` [spec ${id}]`}`, () => {
      const error = errorOf(() => check({ [attribute]: value }));
      expect(error.attribute).to.equal(attribute);
      expect(error.rule).to.include(rule);
      expect(error.message).to.include(attribute).and.include(rule);
    });
  }

  it('refuses a group of a plugin’s model that is neither the plugin’s group nor a subdomain of it [spec 2.1-group-owned]', () => {
    for (const ownGroup of ['people.example.com', 'example.com']) expect(() => check({}, { ownGroup })).not.to.throw();
    for (const ownGroup of ['other.example.com', 'ple.example.com', 'eople.example.com']) {
      expect(errorOf(() => check({}, { ownGroup })).rule).to.include(`own group ${ownGroup}`);
    }
  });

  it('accepts a domain that ends in the letters of the service domain, but is not a subdomain of it [spec 2.1-group-service]', () => {
    expect(() => check({ group: 'myhomeostat.internal' })).not.to.throw();
  });

  it('accepts reserved groups and plurals in models of the server itself, but no malformed group', () => {
    for (const group of ['', 'apps', 'homeostat.internal'])
      expect(() => check({ group }, { reservedAllowed: true })).not.to.throw();
    expect(() => check({ plural: 'namespaces' }, { reservedAllowed: true })).not.to.throw();
    expect(errorOf(() => check({ group: 'A' }, { reservedAllowed: true })).attribute).to.equal('group');
  });

  it('refuses duplicate index names, the names of default indexes, and invalid options of an index [spec 2.8-name-unique, 2.8-defaults-not-again]', () => {
    const indexFunc = simpleAttribute(person, () => 'x');
    const spec = { name: 'spec.name', order: 'ASC', unique: false, indexFunc };
    expect(errorOf(() => check({ indexes: [spec, spec] })).message).to.include('index spec.name: is declared twice');
    for (const name of [
      'metadata.name',
      'metadata.labels',
      'metadata.creationTimestamp',
      'metadata.deletionTimestamp',
    ]) {
      expect(errorOf(() => check({ indexes: [new IndexSpec({ name, indexFunc })] })).attribute).to.equal(
        `index ${name}`,
      );
    }
    expect(errorOf(() => check({ indexes: [{ ...spec, name: '' }] })).rule).to.include('needs a name');
    expect(errorOf(() => check({ indexes: [{ ...spec, order: 'asc' }] })).rule).to.include('ASC or DESC');
    expect(errorOf(() => check({ indexes: [{ ...spec, unique: 'yes' }] })).rule).to.include('true or false');
    expect(errorOf(() => check({ indexes: [{ ...spec, indexFunc: () => 'x' }] })).rule).to.include('simpleAttribute');
  });

  it('refuses unknown keys of an index, index names that no field selector can contain, and the index name metadata.namespace', () => {
    const indexFunc = simpleAttribute(person, () => 'x');
    const spec = { name: 'spec.name', order: 'ASC', unique: false, indexFunc };
    const misspelt = errorOf(() => check({ indexes: [{ ...spec, uniqe: true }] }));
    expect(misspelt.message).to.contain('index spec.name: unknown key "uniqe". Did you mean "unique"?');
    expect(() => new IndexSpec({ name: 'spec.name', uniqe: true, indexFunc } as never)).to.throw(
      TypeError,
      'IndexSpec "spec.name": unknown key "uniqe". Did you mean "unique"?',
    );
    for (const name of ['a b', 'a,b', 'a=b', '!a', 'a(b)', 'a>b', ' a', 'a!=b', 'in (a)']) {
      expect(errorOf(() => check({ indexes: [{ ...spec, name }] })).rule, name).to.contain(
        'no field selector can name',
      );
    }
    expect(errorOf(() => check({ indexes: [{ ...spec, name: 'metadata.namespace' }] })).rule).to.contain(
      'already selects by namespace',
    );
    for (const name of ['spec.name', 'byName', 'größe', 'in', 'a/b', 'a-b_c']) {
      expect(() => check({ indexes: [{ ...spec, name }] }), name).not.to.throw();
    }
  });

  for (const pattern of ['^(?=a)', '^(?!a)', '(?<=a)b', '(a)\\1', '(a{1000}){1000}', '[']) {
    it(`refuses the pattern ${pattern}, naming the field`, () => {
      const error = errorOf(() => check(withField({ type: 'string', pattern })));
      expect(error.attribute).to.equal('PersonStatus.field');
      expect(error.rule).to.include('RE2');
    });
  }

  it('accepts patterns in the syntax of ECMAScript that have another syntax in RE2', () => {
    for (const pattern of ['^\\u0041+$', '^(?<year>\\d{4})-\\/$', '[^]']) {
      expect(() => check(withField({ type: 'string', pattern })), pattern).not.to.throw();
    }
  });

  it('refuses defaults whose type is not that of the field, and defaults that the enum does not contain', () => {
    const rules = [
      [{ type: 'integer', default: '3' }, 'default "3" is not of type integer'],
      [{ type: 'string', default: {} }, 'default {} is not of type string'],
      [{ type: 'array', items: { type: 'string' }, default: 'a' }, 'default "a" is not of type array'],
      [{ type: 'string', enum: ['NEW', 'PAID'], default: 'new' }, 'default "new" is none of the values of enum'],
    ] as const;
    for (const [field, rule] of rules) {
      const error = errorOf(() => check(withField(field)));
      expect([error.attribute, error.rule]).to.deep.equal(['PersonStatus.field', rule]);
    }
    const fine = [
      { type: 'number', default: 3 },
      { type: 'integer', default: 3 },
      { type: 'object', properties: { a: { type: 'string' } }, default: {} },
      { enum: [['a'], 'b'], default: ['a'] },
      { type: 'string', nullable: true, default: null },
    ] as const;
    for (const field of fine) expect(() => check(withField(field)), JSON.stringify(field)).not.to.throw();
  });

  it('refuses references and patterns that are not strings, and references that are remote, unresolved or circular', () => {
    const rules = [
      [{ $ref: 'https://example.com/schema.json' }, 'is not local'],
      [{ $ref: '#/components/schemas/Nobody' }, '"Nobody"'],
      [{ $ref: 7 as unknown as string }, 'is not local'],
      [{ type: 'string', pattern: {} as string }, 'pattern must be a string'],
      [{ $ref: '#/components/schemas/constructor' }, '"constructor"'],
    ] as const;
    for (const [field, rule] of rules) expect(errorOf(() => check(withField(field))).rule).to.include(rule);
    const loop = { A: { allOf: [{ $ref: '#/components/schemas/B' }] }, B: { not: { $ref: '#/components/schemas/A' } } };
    expect(errorOf(() => check({ components: { ...person.components, ...loop } })).rule).to.include('refers to itself');
  });

  it('refuses schemas that are cyclic, too deep or too large, or that have a field named __proto__', () => {
    const cyclic: Record<string, unknown> = { type: 'array' };
    cyclic['items'] = cyclic;
    expect(errorOf(() => check(withField(cyclic))).rule).to.include('contains itself');
    let deep: JsonSchema = { type: 'string' };
    for (let level = 0; level < 3000; level += 1) deep = { type: 'array', items: deep };
    expect(errorOf(() => check(withField(deep))).rule).to.include('100 levels');
    expect(errorOf(() => check(withField({ type: 'string', description: 'x'.repeat(9_000_000) }))).rule).to.include(
      'characters',
    );
    let shared: JsonSchema = { type: 'string' };
    for (let level = 0; level < 30; level += 1) shared = { type: 'object', properties: { a: shared, b: shared } };
    expect(errorOf(() => check(withField(shared))).rule).to.include('100000 schemas');
    const proto = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}') as JsonSchema;
    expect(errorOf(() => check(withField(proto))).rule).to.include('__proto__');
    expect(errorOf(() => check(withField(7 as JsonSchema))).rule).to.include('must be a schema');
  });
});
