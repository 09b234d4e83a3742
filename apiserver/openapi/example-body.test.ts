import { expect } from 'chai';
import { defineModel } from '@homeostat/controller-runtime/api';
import type { Model } from '@homeostat/controller-runtime/api';
import { startApiServer } from '../server/api-server.ts';
import type { ApiServer } from '../server/api-server.ts';
import { exampleBody } from './example-body.ts';
import { servedModels } from './served-models.fixture.ts';

const node = { $ref: '#/$defs/Node' };

/** A model whose schema refers to itself in all possible ways, and has fields of all types. */
const tree: Model = defineModel({
  gvk: 'trees.example.com/v1/Tree',
  plural: 'trees',
  schema: {
    type: 'object',
    required: ['spec'],
    properties: { spec: node, status: { type: 'object', properties: { last: node } } },
    $defs: {
      Node: {
        type: 'object',
        required: ['children', 'other', 'name', 'size', 'weight', 'shape', 'since'],
        properties: {
          children: { type: 'array', items: node },
          other: { ...node, nullable: true },
          byName: { type: 'object', additionalProperties: node },
          either: { anyOf: [{ type: 'object', required: ['next'], properties: { next: node } }] },
          name: { type: 'string', minLength: 3, maxLength: 4 },
          size: { type: 'integer', exclusiveMinimum: 3, multipleOf: 5 },
          weight: { type: 'number', minimum: -9, maximum: -2, exclusiveMaximum: true },
          shape: { enum: ['round', 'square'] },
          since: { type: 'string', format: 'date-time' },
          code: { type: 'string', pattern: '^[A-Z]{7}$' },
          tags: { type: 'array', items: { type: 'string' }, minItems: 2 },
          isOld: { type: 'boolean' },
          colour: { type: 'string', default: 'green' },
        },
      },
    },
  },
});

describe('the example body of a model that refers to itself', () => {
  let server: ApiServer;

  before(async () => {
    server = await startApiServer({ database: 'memory:', port: 0 });
  });

  after(() => server.stop());

  const cyclic = ['Person', 'FlatPerson', 'Tree'];
  for (const [index, model] of [...servedModels().slice(0, 2), tree].entries()) {
    it(`is accepted by the server, for ${cyclic[index]}`, async () => {
      const { descriptor } = server.schemeManager.register(model);
      await server.whenReady(descriptor);
      const path = `/apis/${descriptor.group}/${descriptor.version}/${descriptor.plural}`;
      const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
        paths: Record<string, { post: { requestBody: { content: Record<string, { example: unknown }> } } }>;
      };
      const { content } = document.paths[path]!.post.requestBody;
      for (const type of ['application/json', 'application/yaml']) {
        const body = JSON.stringify(content[type]?.example);
        const url = `${server.url}${path}?dryRun=All&fieldValidation=Strict`;
        const response = await fetch(url, { method: 'POST', body, headers: { 'Content-Type': type } });
        expect(response.status, await response.text()).to.equal(201);
      }
    });
  }

  it('sets a recursive field to null, [] or {}, or omits it; omits every field that has a pattern or minItems 2', () => {
    const { descriptor } = server.schemeManager.register(tree);
    expect(exampleBody(descriptor)).to.deep.equal({
      apiVersion: 'trees.example.com/v1',
      kind: 'Tree',
      metadata: { name: 'example' },
      spec: {
        children: [],
        other: null,
        byName: {},
        name: 'stri',
        size: 5,
        weight: -9,
        shape: 'round',
        since: '2026-01-01T00:00:00Z',
        isOld: false,
        colour: 'green',
      },
    });
  });

  it('is made only for such models; for all other models, tools generate an example', () => {
    const [, , machine] = servedModels();
    expect(machine && exampleBody(machine)).to.equal(undefined);
  });

  it('has at most 500 values for a schema with 2,000 fields', () => {
    const names = Array.from({ length: 2000 }, (_, number) => `field${number}`);
    const fields = Object.fromEntries(names.map((name) => [name, { type: 'string' } as const]));
    const wide = defineModel({
      gvk: 'trees.example.com/v1/Wide',
      plural: 'wides',
      schema: {
        type: 'object',
        properties: { spec: node },
        $defs: { Node: { type: 'object', properties: { again: node, ...fields } } },
      },
    });
    const { spec } = exampleBody(wide) as { spec: object };
    expect(Object.keys(spec)).to.have.length.within(100, 500);
  });
});
