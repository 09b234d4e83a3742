import type { EndpointRoute } from '../endpoints/serving/endpoint-route.ts';
import { expect } from 'chai';
import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { endpointFragment } from './endpoint-paths.ts';
import { routes } from './served-models.fixture.ts';

const greeting = '/apis/api.people.example.com/v1alpha1/persons/{name}/greeting';

describe('endpointFragment', () => {
  it('shows the query, body and response of an endpoint, under the tag of its plugin', () => {
    const { paths, tags } = endpointFragment(routes);
    expect(tags.map(({ name }) => name)).to.deep.equal(['Plugin old', 'Plugin people']);
    const get = paths[greeting]?.get;
    expect(get).to.deep.include({ summary: 'Greets a person', tags: ['Plugin people'] });
    expect(get?.parameters).to.deep.equal([
      { name: 'loud', in: 'query', schema: { type: 'boolean' } },
      { name: 'odd', in: 'query', schema: { enum: [3] } },
    ]);
    expect(get?.responses['200']).to.have.nested.property('content.application/json.schema.properties.text');
    expect(paths[greeting]?.post?.requestBody?.content['application/json']?.schema).to.have.property('required');
  });

  it('has one path for routes that differ only in the names of variables', () => {
    const { paths } = endpointFragment(routes);
    expect(Object.keys(paths).filter((path) => path.endsWith('/greeting'))).to.deep.equal([greeting]);
    expect(paths[greeting]).to.have.all.keys('get', 'post', 'parameters');
    expect(paths[greeting]?.parameters?.map(({ name }) => name)).to.deep.equal(['name']);
  });

  it('shows only the first of two routes for the same method and path', () => {
    const route = { method: 'GET', path: '/apis/a.b/v1/x', owner: 'p' };
    const { paths } = endpointFragment([
      { ...route, summary: 'first' },
      { ...route, summary: 'second' },
    ]);
    expect(paths['/apis/a.b/v1/x']?.get?.summary).to.equal('first');
  });

  it('omits methods that OpenAPI does not support', () => {
    expect(endpointFragment([{ method: 'PROPFIND', path: '/apis/a.b/v1/x', owner: 'p' }]).paths).to.deep.equal({});
  });

  it('replaces a schema that is not JSON by a note that it cannot be shown', () => {
    const cycle: { items?: JsonSchema } = {};
    cycle.items = cycle;
    const broken: readonly JsonSchema[] = [cycle, { default: 1n }];
    for (const response of broken) {
      const { paths } = endpointFragment([{ method: 'GET', path: '/apis/a.b/v1/x', owner: 'p', response }]);
      expect(JSON.stringify(paths)).to.contain('cannot be shown');
    }
  });

  it('omits summary, query, body and response of a route if its summary or query cannot be written as JSON', () => {
    const throwing = new Proxy({}, { ownKeys: () => expect.fail('asked for its keys') });
    const broken = [
      { summary: 1n },
      { summary: { toJSON: () => expect.fail('asked for its JSON') } },
      { query: throwing },
    ];
    for (const each of broken) {
      const route = { method: 'GET', path: '/apis/a.b/v1/x', owner: 'p', ...each } as unknown as EndpointRoute;
      const shown = endpointFragment([route]).paths['/apis/a.b/v1/x']?.get;
      expect(shown).to.deep.include({ operationId: 'getApisABV1X', tags: ['Plugin p'] });
      expect(() => JSON.stringify(shown)).not.to.throw();
    }
  });
});
