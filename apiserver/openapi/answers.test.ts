import { Ajv } from 'ajv';
import type { ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { expect } from 'chai';
import { startApiServer } from '../server/api-server.ts';
import type { ApiServer } from '../server/api-server.ts';
import { Person } from './served-models.fixture.ts';

const version = '/apis/people.example.com/v1alpha1';
const prefix = 'com.example.people.v1alpha1';

/**
 * Converts a schema of the document to a schema for validation. The result refuses undeclared fields, so that the test
 * finds a field that the document lacks. `nullable` beside a reference becomes an `anyOf` with the type `null`.
 */
function judgingSchema(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('properties' in value && 'type' in value) return { additionalProperties: false, ...value };
  const { nullable, ...rest } = value as { readonly nullable?: unknown };
  return nullable === true && !('type' in value) ? { anyOf: [{ type: 'null' }, rest] } : value;
}

describe('the responses in the API documents', () => {
  let server: ApiServer;
  let ajv: Ajv;

  before(async () => {
    server = await startApiServer({ database: 'memory:', port: 0 });
    server.schemeManager.register(Person);
    await server.whenReady({ group: 'people.example.com', version: 'v1alpha1', kind: 'Person' });
    const { components } = (await (await fetch(`${server.url}/openapi.json`)).json()) as { components: object };
    const judging = JSON.parse(JSON.stringify(components), judgingSchema) as object;
    ajv = new Ajv({ strict: false, allErrors: true });
    addFormats.default(ajv);
    ajv.addSchema({ $id: 'document', components: judging });
  });

  after(() => server.stop());

  async function send(path: string, method = 'GET', body?: object): Promise<Response> {
    const headers = { 'content-type': 'application/json' };
    return fetch(`${server.url}${version}/${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async function expectAnswer(answer: Response, status: number, schema: string): Promise<void> {
    const validate: ValidateFunction = ajv.compile({ $ref: `document#/components/schemas/${schema}` });
    const value: unknown = await answer.json();
    expect(answer.status, JSON.stringify(value)).to.equal(status);
    expect(validate(value), JSON.stringify([validate.errors, value])).to.equal(true);
  }

  it('match the real responses for objects, lists, errors and deletions', async () => {
    const person = {
      apiVersion: 'people.example.com/v1alpha1',
      kind: 'Person',
      metadata: { name: 'ann', labels: { 'example.com/a': 'b' }, finalizers: ['example.com/hold'] },
      spec: { name: 'Ann', otherPerson: { spec: { name: 'Bob' } } },
    };
    await expectAnswer(await send('persons', 'POST', person), 201, `${prefix}.Person`);
    await expectAnswer(await send('persons/ann'), 200, `${prefix}.Person`);
    await expectAnswer(await send('persons?limit=1'), 200, `${prefix}.PersonList`);
    await expectAnswer(await send('persons/nobody'), 404, 'meta.v1.Status');
    await expectAnswer(await send('persons', 'POST', { ...person, spec: {} }), 422, 'meta.v1.Status');
    await expectAnswer(await send('persons/ann', 'DELETE'), 200, `${prefix}.Person`);
    await expectAnswer(await send('persons?page=0'), 400, 'meta.v1.Status');
    const free = { ...person, metadata: { name: 'bea' } };
    await expectAnswer(await send('persons', 'POST', free), 201, `${prefix}.Person`);
    await expectAnswer(await send('persons/bea', 'DELETE'), 200, 'meta.v1.Status');
  });
});
