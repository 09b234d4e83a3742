import { Validator } from '@seriousme/openapi-schema-validator';
import { expect } from 'chai';
import { documentsOf, routes, servedModels } from './served-models.fixture.ts';

const { swagger: document } = await documentsOf({ models: servedModels(), routes });
const text = JSON.stringify(document);
const people = '/apis/people.example.com/v1alpha1';

describe('the Swagger document', () => {
  it('is valid Swagger 2.0', async () => {
    const result = await new Validator().validate({ ...structuredClone(document) });
    expect(result.errors).to.equal(undefined);
    expect(result.valid).to.equal(true);
  });

  it('contains all definitions to which it refers', () => {
    const held = ['definitions', 'responses'].flatMap((part) =>
      Object.keys(document[part] as object).map((name) => `#/${part}/${name}`),
    );
    const references = [...text.matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference);
    expect(references).not.to.have.length(0);
    expect(references.filter((reference) => !held.includes(reference ?? ''))).to.deep.equal([]);
  });

  it('gives each definition and operation the group, version and kind by which clients find it', () => {
    const gvk = { group: 'people.example.com', version: 'v1alpha1', kind: 'Person' };
    expect(document).to.have.property('definitions').that.has.property('com.example.people.v1alpha1.Person');
    const person = (document['definitions'] as Record<string, Record<string, unknown>>)[
      'com.example.people.v1alpha1.Person'
    ];
    expect(person?.['x-kubernetes-group-version-kind']).to.deep.equal([gvk]);
    const paths = document['paths'] as Record<string, Record<string, Record<string, unknown>>>;
    const patch = paths[`${people}/persons/{name}`]?.['patch'];
    expect(patch?.['x-kubernetes-group-version-kind']).to.deep.equal(gvk);
    expect(patch?.['consumes']).to.include('application/merge-patch+json');
  });

  it('has every path of a kind, no path of an endpoint, and only keywords of Swagger 2.0', () => {
    expect(text).to.contain(`${people}/namespaces/{namespace}/machines`).and.not.to.contain('/greeting');
    expect(text).not.to.match(/"(nullable|anyOf|oneOf|not|requestBody|content)":/);
  });
});
