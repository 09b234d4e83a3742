import { expect } from 'chai';
import type { ApiSurface } from './document.ts';
import { OpenApiDocuments } from './open-api-documents.ts';
import { routes, servedModels } from './served-models.fixture.ts';

describe('OpenApiDocuments', () => {
  const models = servedModels();
  let surface: ApiSurface;
  let documents: OpenApiDocuments;

  beforeEach(() => {
    surface = { models, routes };
    documents = new OpenApiDocuments({ surface: () => surface, version: '1' });
  });

  it('has an index whose addresses lead to documents, and bear their hashes', () => {
    const index = JSON.parse(String(documents.at('/openapi/v3')?.bytes)) as {
      paths: Record<string, { serverRelativeURL: string }>;
    };
    expect(Object.keys(index.paths)).to.have.length(5);
    for (const [name, { serverRelativeURL }] of Object.entries(index.paths)) {
      const { pathname, searchParams } = new URL(serverRelativeURL, 'http://server');
      expect(pathname).to.equal(`/openapi/v3/${name}`);
      expect(documents.at(pathname)?.hash).to.equal(searchParams.get('hash'));
    }
  });

  it('makes documents once, and again when another kind or endpoint is served', () => {
    const first = documents.at('/openapi.json');
    surface = { models: [...models], routes: routes.map((route) => ({ ...route })) };
    expect(documents.at('/openapi.json')).to.equal(first);
    surface = { models: models.slice(1), routes };
    const second = documents.at('/openapi.json');
    expect(second?.hash).not.to.equal(first?.hash);
    surface = { models: models.slice(1), routes: routes.slice(1) };
    expect(documents.at('/openapi.json')?.hash).not.to.equal(second?.hash);
  });

  it('gives a document the hash that it had when the same is served again', () => {
    const first = documents.at('/openapi.json');
    surface = { models: [], routes: [] };
    expect(documents.at('/openapi.json')?.hash).not.to.equal(first?.hash);
    surface = { models: servedModels(), routes };
    expect(documents.at('/openapi.json')?.hash).to.equal(first?.hash);
  });

  it('forgets the document of a group version that is served no more', () => {
    const path = '/openapi/v3/apis/people.example.com/v1alpha1';
    expect(documents.at(path)).not.to.equal(undefined);
    surface = { models: [], routes };
    expect(documents.at(path)).to.equal(undefined);
    expect(documents.at('/openapi/v3/__proto__')).to.equal(undefined);
  });
});
