import { expect } from 'chai';
import { atOnce } from '../turns/in-turns.ts';
import { checkDefinitionWrite } from './check-definition-write.ts';
import type { CustomResourceDefinition, DefinitionSchema } from './definition.ts';

interface Given {
  readonly group?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Default none. */
  readonly subresources?: object;
}

const metadata = {
  uid: 'u',
  version: 1,
  resourceVersion: '1',
  generation: 1,
  creationTimestamp: '2026-01-01T00:00:00Z',
};

function definitionOf(schema: DefinitionSchema, given: Given = {}): CustomResourceDefinition {
  const { group = 'shop.example.com', annotations = {}, ...version } = given;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { ...metadata, name: `widgets.${group}`, annotations },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...version }],
    },
  };
}

/** Returns the violations in the schema of a field `a`. Their paths are relative to this schema. */
function wrongIn(a: DefinitionSchema): readonly string[] {
  return wrong(definitionOf({ type: 'object', properties: { a } })).map((each) =>
    each.replace('spec.versions[0].schema.openAPIV3Schema.properties[a].', ''),
  );
}

function wrong(next: CustomResourceDefinition, previous?: CustomResourceDefinition): readonly string[] {
  return atOnce(checkDefinitionWrite(next, previous)).map(({ field, message }) => `${field}: ${message}`);
}

const text = { type: 'string' } as const;
const either = [{ type: 'integer' }, text] as const;

describe('the rules of definitions', () => {
  describe('refuse keywords that schemas of definitions must not have:', () => {
    const keywords: Readonly<Record<string, unknown>> = {
      id: 'x',
      $schema: 'http://json-schema.org/draft-07/schema',
      $ref: '#/$defs/x',
      definitions: { x: text },
      dependencies: { x: ['y'] },
      patternProperties: { x: text },
      additionalItems: true,
    };
    for (const [keyword, value] of Object.entries(keywords)) {
      it(`${keyword}, in a field, in items, in additionalProperties and in branches`, () => {
        const odd = { ...text, [keyword]: value };
        const rule = `${keyword}: Forbidden: ${keyword} is not supported`;
        expect(wrongIn({ ...odd, default: 'x' })).to.deep.equal([rule]);
        expect(wrongIn({ type: 'object', additionalProperties: odd })).to.deep.equal([`additionalProperties.${rule}`]);
        expect(wrongIn({ type: 'array', items: odd })).to.deep.equal([`items.${rule}`]);
        expect(wrongIn({ ...text, not: { [keyword]: value } })).to.deep.equal([`not.${rule}`]);
      });
    }
  });

  it('refuse unknown fields in a default, also below a field `metadata`, but not in the metadata of an embedded resource', () => {
    const rule = (a: DefinitionSchema): string =>
      `default: Invalid value: ${JSON.stringify(a.default)}: must not have unknown fields`;
    const fields = { metadata: { type: 'object', properties: { b: text } }, b: text } as const;
    const plain = { type: 'object', properties: fields } as const;
    for (const value of [{ c: 'x' }, { metadata: { c: 'x' } }]) {
      const a = { ...plain, default: value };
      expect(wrongIn(a)).to.deep.equal([rule(a)]);
    }
    expect(wrongIn({ ...plain, default: { metadata: { b: 'x' }, b: 'y' } })).to.deep.equal([]);
    const embedded = {
      type: 'object',
      properties: { b: text },
      'x-kubernetes-embedded-resource': true,
    } as const;
    const resource = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', c: 'x' } };
    expect(wrongIn({ ...embedded, default: resource })).to.deep.equal([]);
    const odd = { ...embedded, default: { ...resource, c: 'x' } };
    expect(wrongIn(odd)).to.deep.equal([rule(odd)]);
  });

  it('allow no `additionalProperties` other than true in a schema with fields, as Kubernetes does', () => {
    const withFields = { type: 'object', properties: { b: text } } as const;
    expect(wrongIn({ ...withFields, additionalProperties: true })).to.deep.equal([]);
    for (const additionalProperties of [false, text])
      expect(wrongIn({ ...withFields, additionalProperties })).to.deep.equal([
        'additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive',
      ]);
    expect(wrongIn({ type: 'object', properties: {}, additionalProperties: text })).to.deep.equal([]);
    expect(wrongIn({ type: 'object', additionalProperties: false })).to.deep.equal([
      'additionalProperties: Forbidden: additionalProperties cannot be set to false',
    ]);
  });

  it('require the schema of the items of a list, and the type of these items', () => {
    expect(wrongIn({ type: 'array' })).to.deep.equal(['items: Required value: must be specified']);
    expect(wrongIn({ type: 'array', items: {} })).to.deep.equal([
      'items.type: Required value: must not be empty for specified array items',
    ]);
  });

  it('allow `type` in branches only for an int-or-string value: in its `anyOf`, or in the `anyOf` of the first schema of its `allOf`', () => {
    const isIntOrString = { 'x-kubernetes-int-or-string': true } as const;
    expect(wrongIn({ ...isIntOrString, anyOf: either })).to.deep.equal([]);
    expect(wrongIn({ ...isIntOrString, allOf: [{ anyOf: either }, { pattern: '^[0-9]+%?$' }] })).to.deep.equal([]);
    const rule = 'type: Forbidden: must be empty to be structural';
    expect(wrongIn({ ...isIntOrString, oneOf: either })).to.deep.equal([`oneOf[0].${rule}`, `oneOf[1].${rule}`]);
    expect(wrongIn({ ...isIntOrString, anyOf: either.toReversed() })).to.have.length(2);
    expect(wrongIn({ ...isIntOrString, allOf: [{ pattern: 'a' }, { anyOf: either }] })).to.have.length(2);
    expect(wrongIn({ ...isIntOrString, not: { anyOf: either } })).to.have.length(2);
    expect(wrongIn({ ...text, anyOf: [{ ...text, minLength: 1 }] })).to.deep.equal([`anyOf[0].${rule}`]);
  });

  it('refuse keywords inside `allOf`, `anyOf` and `oneOf` that only the outer schema may have, unless they are empty or false', () => {
    const branch = {
      description: '',
      title: '',
      nullable: false,
      'x-kubernetes-validations': [],
      minLength: 1,
    } as const;
    expect(wrongIn({ ...text, anyOf: [branch] })).to.deep.equal([]);
    expect(
      wrongIn({
        ...text,
        allOf: [{ ...branch, description: 'a', nullable: true, 'x-kubernetes-int-or-string': true }],
      }),
    ).to.deep.equal([
      'allOf[0].description: Forbidden: must be empty to be structural',
      'allOf[0].nullable: Forbidden: must be false to be structural',
      'allOf[0].x-kubernetes-int-or-string: Forbidden: must be false to be structural',
    ]);
    const named = { type: 'object', properties: { metadata: { type: 'object' } } } as const;
    expect(wrongIn({ ...named, oneOf: [{ properties: { metadata: { required: ['name'] } } }] })).to.deep.equal([
      'oneOf[0].properties[metadata]: Forbidden: must not be specified in a nested context',
    ]);
  });

  it('refuse `x-kubernetes-preserve-unknown-fields` for an int-or-string value', () => {
    const keyword = 'x-kubernetes-preserve-unknown-fields';
    expect(wrongIn({ 'x-kubernetes-int-or-string': true, [keyword]: true })).to.deep.equal([
      `${keyword}: Invalid value: true: must be false if x-kubernetes-int-or-string is true`,
    ]);
  });

  it('refuse a root with `nullable: true`, and a root with a `oneOf` if there is a status subresource', () => {
    const root = { type: 'object', properties: { spec: { type: 'object' } } } as const;
    const place = 'spec.versions[0].schema.openAPIV3Schema';
    expect(wrong(definitionOf({ ...root, nullable: true }))).to.deep.equal([
      `${place}.nullable: Forbidden: nullable cannot be true at the root`,
    ]);
    const composed = { ...root, oneOf: [{ required: ['spec'] }] };
    expect(wrong(definitionOf(composed))).to.deep.equal([]);
    const [refusal = '', ...more] = wrong(definitionOf(composed, { subresources: { status: {} } }));
    expect([refusal.startsWith(`${place}: Invalid value: "oneOf": only `), more]).to.deep.equal([true, []]);
    expect(wrong(definitionOf({ ...root, oneOf: [] }, { subresources: { status: {} } }))).to.deep.equal([]);
  });

  it('require an approval for groups of Kubernetes, except in the update of a definition that was stored without one', () => {
    const schema = { type: 'object' } as const;
    const inGroup = (approval?: string, group = 'x.k8s.io'): CustomResourceDefinition =>
      definitionOf(schema, {
        group,
        annotations: approval === undefined ? {} : { 'api-approved.kubernetes.io': approval },
      });
    const place = 'metadata.annotations[api-approved.kubernetes.io]';
    expect(wrong(inGroup())[0]).to.match(/^metadata\.annotations\[api-approved\.kubernetes\.io\]: Required value: /);
    expect(wrong(inGroup('yes'))[0]).to.contain(`${place}: Invalid value: "yes": `);
    for (const approval of ['unapproved, a test', 'https://github.com/kubernetes/enhancements/pull/1111'])
      expect(wrong(inGroup(approval))).to.deep.equal([]);
    expect(wrong(inGroup(undefined, 'x-k8s.io'))).to.deep.equal([]);
    expect(wrong(inGroup(), inGroup())).to.deep.equal([]);
    expect(wrong(inGroup(), inGroup('unapproved'))).to.have.length(1);
  });
});
