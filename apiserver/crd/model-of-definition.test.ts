import { expect } from 'chai';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { compileSchema } from '../schema/compile-schema.ts';
import type { CustomResourceDefinition, DefinitionSchema, DefinitionVersion } from './definition.ts';
import { identityOfModel, modelOfDefinition } from './model-of-definition.ts';

function versionOf(openAPIV3Schema: DefinitionSchema, more: Partial<DefinitionVersion> = {}): DefinitionVersion {
  return { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema }, ...more };
}

const definition: CustomResourceDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'widgets.shop.example.com',
    uid: 'u',
    version: 1,
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  spec: { group: 'shop.example.com', scope: 'Cluster', names: { plural: 'widgets', kind: 'Widget' }, versions: [] },
};

function modelOf(...versions: readonly DefinitionVersion[]): ModelDescriptor {
  return modelOfDefinition({ ...definition, spec: { ...definition.spec, versions } });
}

function causesOf(schema: DefinitionSchema, object: object): readonly (string | undefined)[] {
  const compiled = compileSchema(modelOf(versionOf(schema)), 'client');
  return compiled.validate(object).map(({ field }) => field);
}

describe('the model of a definition', () => {
  it('validates metadata.name with the schema of the definition', () => {
    const schema: DefinitionSchema = {
      type: 'object',
      properties: { metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 3 } } } },
    };
    expect(causesOf(schema, { metadata: { name: 'abcd', labels: {} } })).to.deep.equal(['metadata.name']);
    expect(causesOf(schema, { metadata: { name: 'abc' } })).to.deep.equal([]);
  });

  it('treats an empty enum, anyOf, allOf, oneOf or required as absent', () => {
    const size: DefinitionSchema = { type: 'integer', enum: [], anyOf: [], allOf: [], oneOf: [] };
    expect(causesOf({ type: 'object', required: [], properties: { size } }, { size: 3 })).to.deep.equal([]);
  });

  it('allows dots in the names of objects, and has the default of each field that the definition omits', () => {
    const model = modelOf(versionOf({ type: 'object' }));
    expect(model).to.include({ nameFormat: 'subdomain', singular: 'widget', scope: 'Cluster', schemaName: 'Widget' });
    expect([model.subresources, model.printerColumns, model.indexes]).to.deep.equal([[], [], []]);
  });

  it('keeps its identityOfModel when a limit in the schema changes, but not when the version, an index, or the type of an indexed field changes', () => {
    const selectableFields = [{ jsonPath: '.spec.size' }];
    const schemaOf = (size: DefinitionSchema): DefinitionSchema => ({
      type: 'object',
      properties: { spec: { type: 'object', properties: { size } } },
    });
    const identity = (size: DefinitionSchema, more: Partial<DefinitionVersion> = { selectableFields }): string =>
      identityOfModel(modelOf(versionOf(schemaOf(size), more)));
    const before = identity({ type: 'integer' });
    expect(identity({ type: 'integer', maximum: 3 })).to.equal(before);
    expect(identity({ type: 'string' })).not.to.equal(before);
    expect(identity({ type: 'integer' }, {})).not.to.equal(before);
    expect(identity({ type: 'integer' }, { selectableFields, name: 'v2' })).not.to.equal(before);
  });
});
