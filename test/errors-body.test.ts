import { expect } from 'chai';
import { apiVersion, letters, newLetter, person, persons } from './support/models/models.ts';
import { createNamespaces } from './support/models/namespaces.ts';
import { expectRefusal, leavesNoTrace } from './support/servers/refusal.ts';
import type { Refusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { RequestOptions } from './support/servers/test-server.ts';

interface Case extends Refusal {
  readonly claim: string;
  /** The default is POST. */
  readonly method?: string;
  readonly path?: string;
  readonly body?: unknown;
  readonly type?: string;
  readonly headers?: RequestOptions['headers'];
}

const ann = `${persons}/ann`;
const badRequest = { reason: 'BadRequest' } as const;
const head = `"apiVersion":"${apiVersion}","kind":"Person"`;

const malformed: readonly Case[] = [
  { claim: 'JSON that ends too early', body: '{"spec":', ...badRequest },
  { claim: 'an empty body', body: '', ...badRequest },
  { claim: 'JSON with something behind it', body: `${JSON.stringify(person('x'))} true`, ...badRequest },
  { claim: 'YAML that cannot be parsed', body: 'spec: [1, 2', type: 'application/yaml', ...badRequest },
  {
    claim: 'two YAML documents',
    body: 'kind: Person\n---\nkind: Person\n',
    type: 'application/yaml',
    ...badRequest,
  },
  { claim: 'bytes that are not UTF-8', body: Uint8Array.of(0x22, 0xff, 0x22), ...badRequest },
  {
    claim: 'a body that is not gzip, with content-encoding gzip',
    body: '{}',
    headers: { 'content-encoding': 'gzip' },
    ...badRequest,
  },
  {
    claim: 'malformed JSON in a merge patch',
    method: 'PATCH',
    path: ann,
    body: '{"spec"',
    ...badRequest,
  },
  {
    claim: 'malformed JSON in a JSON patch',
    method: 'PATCH',
    path: ann,
    body: '[{',
    type: 'application/json-patch+json',
    ...badRequest,
  },
  { claim: 'malformed DeleteOptions', method: 'DELETE', path: ann, body: '{', ...badRequest },
];

const duplicates: readonly Case[] = [
  {
    claim: 'a key twice at the top level',
    body: `{${head},"metadata":{"name":"x"},"spec":{"name":"A"},"spec":{"name":"B"}}`,
    ...badRequest,
    message: 'spec',
  },
  {
    claim: 'a key twice at a deeper level',
    body: `{${head},"metadata":{"name":"x"},"spec":{"name":"A","otherPerson":{"spec":{"name":"B","age":1,"age":2}}}}`,
    ...badRequest,
    message: 'age',
  },
  {
    claim: 'a key twice, once written with an escape',
    body: `{${head},"metadata":{"name":"x"},"spec":{"name":"A","n\\u0061me":"B"}}`,
    ...badRequest,
  },
  {
    claim: 'a key twice in YAML',
    body: `apiVersion: ${apiVersion}\nkind: Person\nmetadata:\n  name: x\nspec:\n  name: A\n  name: B\n`,
    type: 'application/yaml',
    ...badRequest,
  },
  {
    claim: 'a key twice in a patch',
    method: 'PATCH',
    path: ann,
    body: '{"spec":{"age":1,"age":2}}',
    ...badRequest,
  },
];

const wrongShapes: readonly Case[] = [
  ...['[]', '"text"', '5', 'null', 'true'].map((body) => ({
    claim: `${body} in place of an object`,
    body,
    ...badRequest,
    message: /must be of type Person/,
  })),
  { claim: 'no apiVersion', body: { ...person('x'), apiVersion: undefined }, ...badRequest, message: 'apiVersion' },
  { claim: 'no kind', body: { ...person('x'), kind: undefined }, ...badRequest, message: 'kind' },
  { claim: 'a number as kind', body: { ...person('x'), kind: 5 }, ...badRequest, message: 'kind' },
  { claim: 'metadata that is a list', body: { ...person('x'), metadata: [] }, ...badRequest, message: 'metadata' },
  { claim: 'metadata that is a string', body: { ...person('x'), metadata: 'x' }, ...badRequest, message: 'metadata' },
  {
    claim: 'metadata fields of wrong types, all of them at once',
    body: person('x', {}, { labels: { a: 1 }, finalizers: 'a/b', version: 'one' }),
    ...badRequest,
    causes: [
      'FieldValueTypeInvalid metadata.labels["a"]',
      'FieldValueTypeInvalid metadata.finalizers',
      'FieldValueTypeInvalid metadata.version',
    ],
  },
  {
    claim: 'a merge patch that is a list',
    method: 'PATCH',
    path: ann,
    body: [],
    ...badRequest,
  },
  {
    claim: 'a JSON patch that is an object',
    method: 'PATCH',
    path: ann,
    body: {},
    type: 'application/json-patch+json',
    ...badRequest,
  },
  {
    claim: 'a JSON patch with an operation that does not exist',
    method: 'PATCH',
    path: ann,
    body: [{ op: 'frobnicate', path: '/spec/age' }],
    type: 'application/json-patch+json',
    reason: 'Invalid',
    causes: ['FieldValueInvalid patch[0]'],
  },
  {
    claim: 'a JSON patch whose operation has no path',
    method: 'PATCH',
    path: ann,
    body: [{ op: 'remove' }],
    type: 'application/json-patch+json',
    reason: 'Invalid',
    causes: ['FieldValueInvalid patch[0]'],
  },
  {
    claim: 'a PUT without metadata.name',
    method: 'PUT',
    path: ann,
    body: { ...person('ann'), metadata: {} },
    ...badRequest,
    message: 'the name of the object (ann based on URL) was undeterminable: name must be provided',
  },
  {
    claim: 'a PUT with an empty metadata.name',
    method: 'PUT',
    path: ann,
    body: person(''),
    ...badRequest,
  },
  {
    claim: 'a PUT with resourceVersion "0"',
    method: 'PUT',
    path: ann,
    body: person('ann', {}, { resourceVersion: '0' }),
    reason: 'Invalid',
    causes: ['FieldValueInvalid metadata.resourceVersion'],
    message: 'must be specified for an update',
  },
  {
    claim: 'a merge patch with resourceVersion "0"',
    method: 'PATCH',
    path: ann,
    body: { metadata: { resourceVersion: '0' } },
    reason: 'Invalid',
    causes: ['FieldValueInvalid metadata.resourceVersion'],
  },
  {
    claim: 'a merge patch that removes the name',
    method: 'PATCH',
    path: ann,
    body: { metadata: { name: null } },
    ...badRequest,
  },
  { claim: 'DeleteOptions of another kind', method: 'DELETE', path: ann, body: { kind: 'Person' }, ...badRequest },
  { claim: 'DeleteOptions that are a list', method: 'DELETE', path: ann, body: [], ...badRequest },
  {
    claim: 'preconditions that are a string',
    method: 'DELETE',
    path: ann,
    body: { preconditions: 'now' },
    ...badRequest,
  },
  {
    claim: 'a precondition of the wrong type',
    method: 'DELETE',
    path: ann,
    body: { preconditions: { uid: 5 } },
    ...badRequest,
  },
  // An empty precondition must not count as absent. Otherwise the request would delete any object of this name.
  ...['uid', 'resourceVersion'].map((field) => ({
    claim: `a precondition with an empty ${field}`,
    method: 'DELETE',
    path: ann,
    body: { preconditions: { [field]: '' } },
    ...badRequest,
  })),
];

const pathMismatches: readonly Case[] = [
  {
    claim: 'an apiVersion that differs from the path [spec 2.2-api-version]',
    body: { ...person('x'), apiVersion: 'people.example.com/v2' },
    ...badRequest,
    message:
      'the API version in the data (people.example.com/v2) does not match the expected API version (people.example.com/v1alpha1)',
  },
  {
    claim: 'a kind that differs from the path [spec 2.2-kind]',
    body: { ...person('x'), kind: 'Letter' },
    ...badRequest,
    message: 'Letter',
  },
  {
    claim: 'a name that differs from the path',
    method: 'PUT',
    path: ann,
    body: person('bob'),
    ...badRequest,
    message: 'the name of the object (bob) does not match the name on the URL (ann)',
  },
  {
    claim: 'a patch that changes the name',
    method: 'PATCH',
    path: ann,
    body: { metadata: { name: 'bob' } },
    ...badRequest,
  },
  {
    claim: 'a namespace that differs from the path',
    path: letters.replace('letters', 'namespaces/here/letters'),
    body: { ...newLetter('x'), metadata: { name: 'x', namespace: 'there' } },
    ...badRequest,
    message: 'namespace',
  },
  {
    claim: 'a namespace for a Cluster-scoped kind',
    body: person('x', {}, { namespace: 'there' }),
    ...badRequest,
    message: 'namespace',
  },
  {
    claim: 'a resourceVersion at creation',
    body: person('x', {}, { resourceVersion: '1' }),
    ...badRequest,
    message: 'resourceVersion',
  },
  {
    claim: 'a resourceVersion that is not a number',
    method: 'PUT',
    path: ann,
    body: person('ann', {}, { resourceVersion: 'abc' }),
    ...badRequest,
    message: 'resourceVersion',
  },
];

const strict = (method: string, path: string, body: unknown): Case => ({
  claim: `unknown fields in a strict ${method}`,
  method,
  path: `${path}?fieldValidation=Strict`,
  body,
  ...badRequest,
  message: 'strict decoding error: unknown field "spec.bogus", unknown field "spec.otherPerson.spec.more"',
  causes: ['FieldValueInvalid spec.bogus', 'FieldValueInvalid spec.otherPerson.spec.more'],
});
const unknown = {
  bogus: 1,
  otherPerson: { apiVersion, kind: 'Person', metadata: { name: 'o' }, spec: { name: 'O', more: 2 } },
};

const strictFields: readonly Case[] = [
  strict('POST', persons, person('x', unknown)),
  strict('PUT', ann, person('ann', unknown)),
  strict('PATCH', ann, { spec: unknown }),
];

describe('errors: bodies', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
    await createNamespaces(server.api.client, ['here']);
  });

  // Each case starts with ann as the only person, independent of the earlier cases.
  beforeEach(async () => {
    await server.delete(persons);
    await server.create(persons, person('ann'));
  });

  after(() => server.stop());

  for (const [group, cases] of Object.entries({
    'malformed text': malformed,
    'duplicate keys': duplicates,
    'wrong shape': wrongShapes,
    'mismatch with the path': pathMismatches,
    'strict validation': strictFields,
  })) {
    describe(group, () => {
      for (const { claim, method = 'POST', path = persons, body, type, headers, ...expected } of cases) {
        it(`the server refuses a request with this mistake: ${claim}`, async () => {
          const options = {
            body,
            ...(type === undefined ? {} : { type }),
            ...(headers === undefined ? {} : { headers }),
          };
          expectRefusal(await leavesNoTrace(server, () => server.request(method, path, options)), expected);
        });
      }
    });
  }

  it('reports the position of a syntax error', async () => {
    const { body } = await server.post(persons, '{\n  "spec": oops\n}');
    expect(body.message).to.match(/line 2|position 1[0-9]|character 1[0-9]/i);
  });

  it('refuses deeply nested JSON and YAML with 400', async () => {
    const json = `{${head},"metadata":{"name":"deep"},"spec":{"name":"D","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
    expectRefusal(await leavesNoTrace(server, () => server.post(persons, json)), {
      ...badRequest,
      message: /nest|deep/i,
    });
    const yaml = `apiVersion: ${apiVersion}\nkind: Person\nx: ${'['.repeat(50_000)}${']'.repeat(50_000)}\n`;
    expectRefusal(
      await leavesNoTrace(server, () => server.post(persons, yaml, { type: 'application/yaml' })),
      badRequest,
    );
  });

  it('refuses YAML whose aliases expand exponentially', async () => {
    const levels = ['a: &a [x,x,x,x,x,x,x,x,x]'];
    for (let level = 1; level < 9; level += 1) {
      const [name, before] = [String.fromCodePoint(97 + level), String.fromCodePoint(96 + level)];
      levels.push(`${name}: &${name} [${Array(9).fill(`*${before}`).join(',')}]`);
    }
    const answer = await leavesNoTrace(server, () =>
      server.post(persons, levels.join('\n'), { type: 'application/yaml' }),
    );
    expectRefusal(answer, badRequest);
  });

  it('refuses the field __proto__, and pollutes no prototype', async () => {
    const body = `{${head},"metadata":{"name":"polluter"},"spec":{"name":"P","__proto__":{"polluted":"yes"}}}`;
    const refused = { ...badRequest, message: 'the field "spec.__proto__" has a name that is not allowed' };
    expectRefusal(await leavesNoTrace(server, () => server.post(persons, body)), refused);
    const patch = '{"spec":{"__proto__":{"polluted":"yes"}}}';
    expectRefusal(await leavesNoTrace(server, () => server.patch(ann, patch)), refused);
    expectNoPollution();
  });

  for (const key of ['constructor', 'prototype', 'toString']) {
    it(`does not pollute prototypes with the field ${key}, and does not store the field`, async () => {
      const body = `{${head},"metadata":{"name":"polluter"},"spec":{"name":"P","${key}":{"polluted":"yes"}},"${key}":{"polluted":"yes"}}`;
      const created = await server.post(persons, body);
      expect(created.status, created.text).to.equal(201);
      expect(created.body.spec).to.deep.equal({ name: 'P', nick: 'none' });
      expect(created.body).to.have.all.keys('apiVersion', 'kind', 'metadata', 'spec');
      await server.delete(`${persons}/polluter`);
      const patched = await server.patch(ann, `{"spec":{"${key}":{"polluted":"yes"}}}`);
      expect(patched.status, patched.text).to.equal(200);
      expect((await server.get(ann)).body.spec).to.not.have.own.property(key);
      expectNoPollution();
    });
  }
});

function expectNoPollution(): void {
  for (const polluted of [{}, [], Object, Function]) expect(Reflect.has(polluted, 'polluted')).to.equal(false);
}
