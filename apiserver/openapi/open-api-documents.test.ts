import { defineModel } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import type { ApiSurface } from './api-surface.ts';
import { OpenApiDocuments } from './open-api-documents.ts';
import { routes, servedModels } from './served-models.fixture.ts';

/** Returns a model that calls `onRead` when its schema is converted. */
function watchedModel(kind: string, onRead: () => void, description = ''): ModelDescriptor {
  const model = defineModel({
    group: 'watched.example.com',
    version: 'v1',
    kind,
    plural: `${kind.toLowerCase()}s`,
    schema: {
      type: 'object',
      description,
      properties: { spec: { type: 'object', properties: { a: { type: 'string' } } } },
    },
  }) as ModelDescriptor;
  const components = Object.fromEntries(
    Object.entries(model.components).map(([name, schema]) => {
      const get = (target: object, property: string | symbol): unknown => {
        // Only the conversion of a schema reads this keyword, so onRead is called when the schema is converted. The
        // computation of the schema's hash does not read it.
        if (property === 'x-kubernetes-int-or-string') onRead();
        return Reflect.get(target, property) as unknown;
      };
      return [name, new Proxy(schema, { get })];
    }),
  );
  return Object.freeze({ ...model, components });
}

describe('OpenApiDocuments', () => {
  const models = servedModels();
  let surface: ApiSurface;
  let documents: OpenApiDocuments;

  beforeEach(() => {
    surface = { models, routes };
    documents = new OpenApiDocuments({ surface: () => surface, version: '1' });
  });

  const hashAt = async (path: string): Promise<string | undefined> => (await documents.find(path))?.hash;
  const bytesAt = async (path: string): Promise<Buffer | undefined> => (await documents.find(path))?.bytes();

  it('have an index whose URLs lead to documents and contain their hashes', async () => {
    const index = JSON.parse(String(await bytesAt('/openapi/v3'))) as {
      paths: Record<string, { serverRelativeURL: string }>;
    };
    expect(Object.keys(index.paths)).to.have.length(5);
    for (const [name, { serverRelativeURL }] of Object.entries(index.paths)) {
      const { pathname, searchParams } = new URL(serverRelativeURL, 'http://server');
      expect(pathname).to.equal(`/openapi/v3/${name}`);
      expect(await hashAt(pathname)).to.equal(searchParams.get('hash'));
    }
  });

  it('are built once for all simultaneous requests, and again when the served kinds or endpoints change', async () => {
    const [first, same] = await Promise.all([bytesAt('/openapi.json'), bytesAt('/openapi.json')]);
    expect(same).to.equal(first);
    surface = { models: [...models], routes: routes.map((route) => ({ ...route })) };
    expect(await bytesAt('/openapi.json')).to.equal(first);
    const hashes = [await hashAt('/openapi.json')];
    surface = { models: models.slice(1), routes };
    hashes.push(await hashAt('/openapi.json'));
    surface = { models: models.slice(1), routes: routes.slice(1) };
    hashes.push(await hashAt('/openapi.json'));
    expect(new Set(hashes)).to.have.property('size', 3);
  });

  it('have the same hash as before when the same kinds are served again', async () => {
    const first = await hashAt('/openapi.json');
    surface = { models: [], routes: [] };
    expect(await hashAt('/openapi.json')).not.to.equal(first);
    surface = { models: servedModels(), routes };
    expect(await hashAt('/openapi.json')).to.equal(first);
  });

  it('have another hash in another version of the server', async () => {
    const newer = new OpenApiDocuments({ surface: () => surface, version: '2' });
    for (const path of ['/openapi/v3', '/openapi/v3/api/v1', '/openapi/v2', '/openapi.json'])
      expect((await newer.find(path))?.hash, path).not.to.equal(await hashAt(path));
  });

  it('exist only for served kinds', async () => {
    const path = '/openapi/v3/apis/people.example.com/v1alpha1';
    expect(await documents.find(path)).not.to.equal(undefined);
    surface = { models: [], routes };
    expect(await documents.find(path)).to.equal(undefined);
    for (const none of ['/openapi/v3/__proto__', '/openapi/v3/', '/openapi', '/openapi/v2/x'])
      expect(await documents.find(none), none).to.equal(undefined);
  });

  it('convert only the schemas of the requested group version; a request for the index or a hash converts no schema', async () => {
    const read: string[] = [];
    const other = watchedModel('Other', () => read.push('Other'));
    const one = { ...watchedModel('One', () => read.push('One')), group: 'one.example.com' };
    surface = { models: [one, other], routes: [] };
    await bytesAt('/openapi/v3');
    await hashAt('/openapi.json');
    await hashAt('/openapi/v3/apis/one.example.com/v1');
    expect(read).to.deep.equal([]);
    await bytesAt('/openapi/v3/apis/one.example.com/v1');
    expect(new Set(read)).to.deep.equal(new Set(['One']));
  });

  it('are built again after a change, and reuse the parts that did not change', async () => {
    const read: string[] = [];
    const stays = watchedModel('Stays', () => read.push('Stays'));
    surface = { models: [stays, watchedModel('Changes', () => undefined)], routes: [] };
    const path = '/openapi/v3/apis/watched.example.com/v1';
    await bytesAt(path);
    await bytesAt('/openapi.json');
    const reads = read.length;
    const changes = watchedModel('Changes', () => read.push('Changes'), 'changed');
    surface = { models: [stays, changes, watchedModel('New', () => undefined)], routes: [] };
    const text = String(await bytesAt(path));
    for (const part of ['"changed"', 'watched.v1.New', 'watched.v1.Stays']) expect(text).to.include(part);
    await bytesAt('/openapi.json');
    expect(read.slice(reads)).to.include('Changes').and.not.to.include('Stays');
  });
});
