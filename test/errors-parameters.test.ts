import { expect } from 'chai';
import { letters, person, persons } from './support/models/models.ts';
import { expectRefusal, leavesNoTrace } from './support/servers/refusal.ts';
import type { Refusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

interface Case extends Refusal {
  readonly query: string;
  readonly rule?: string;
}

const badRequest = { reason: 'BadRequest' } as const;
const ann = `${persons}/ann`;
const indexed = ['metadata.name', 'metadata.labels', 'metadata.creationTimestamp', 'spec.name', 'spec.slug'];

const badLists: readonly Case[] = [
  ...['page=0', 'page=-1', 'page=1.5', 'page=abc', 'page=1e3', 'page=0x1', 'page=%201', 'page=+1'].map((query) => ({
    query,
    ...badRequest,
    message: 'page',
    rule: '4.2-page',
  })),
  ...['size=-1', 'size=1.5', 'size=abc', 'size=%2B1'].map((query) => ({
    query,
    ...badRequest,
    message: 'size',
    rule: '4.2-size',
  })),
  ...['limit=--1', 'limit=abc', 'limit=1.5'].map((query) => ({ query, ...badRequest, message: 'limit' })),
  ...['limit=1&page=1', 'limit=1&size=1', 'continue=abc&page=2'].map((query) => ({
    query,
    ...badRequest,
    message: /page.*limit/,
  })),
  ...['continue=garbage', 'continue=e30', 'continue=%00', `continue=${'a'.repeat(2000)}`].map((query) => ({
    query,
    ...badRequest,
    message: 'continue',
  })),
  { query: 'sort=spec.age,desc', ...badRequest, message: 'spec.age', rule: '4.2-sort-indexed' },
  { query: 'sort=nonsense', ...badRequest, message: 'nonsense' },
  { query: 'sort=spec.name,upwards', ...badRequest, message: 'asc or desc', rule: '4.2-sort' },
  { query: 'sort=,asc', ...badRequest, message: 'sort', rule: '4.2-sort' },
  { query: 'sort=spec.name,asc,desc', ...badRequest, message: 'sort', rule: '4.2-sort' },
  { query: 'sort=spec.name&sort=nonsense', ...badRequest, message: 'nonsense' },
  { query: 'fieldSelector=spec.age%3D5', ...badRequest, message: 'spec.age', rule: '4.2-field-indexed' },
  { query: 'fieldSelector=metadata.uid%3D5', ...badRequest, message: 'metadata.uid' },
  { query: 'resourceVersion=abc', ...badRequest, message: 'resourceVersion' },
  { query: 'resourceVersion=-1', ...badRequest, message: 'resourceVersion' },
  { query: 'resourceVersion=1.5', ...badRequest, message: 'resourceVersion' },
];

const badSelectors: readonly string[] = [
  'labelSelector=a in',
  'labelSelector=a in (',
  'labelSelector=a in (b',
  'labelSelector=a in b',
  'labelSelector=a notin',
  'labelSelector=a=b=c',
  'labelSelector==b',
  'labelSelector=a=b,,c=d',
  'labelSelector=!',
  'labelSelector=!a=b',
  'labelSelector=a b',
  'labelSelector=a>x',
  'labelSelector=a)',
  'labelSelector=-bad-/x=1',
  'labelSelector=a=b!',
  'fieldSelector=spec.name=(a',
  'fieldSelector=spec.name in a',
  'fieldSelector=spec.name>5',
  'fieldSelector==x',
  'fieldSelector=spec.name=a=b',
  'fieldSelector=spec.name=a\\x',
];

const cause = (reason: string, field: string): Refusal => ({ reason: 'Invalid', causes: [`${reason} ${field}`] });

/** Wrong values of Kubernetes' parameters. The server refuses them with 422, as kube-apiserver does. */
const listOptions: readonly Case[] = [
  { query: 'resourceVersionMatch=Exact', ...cause('FieldValueForbidden', 'resourceVersionMatch') },
  { query: 'resourceVersionMatch=NotOlderThan', ...cause('FieldValueForbidden', 'resourceVersionMatch') },
  {
    query: 'resourceVersion=1&resourceVersionMatch=Newest',
    ...cause('FieldValueNotSupported', 'resourceVersionMatch'),
    message: 'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Newest"',
  },
  {
    query: 'resourceVersion=0&resourceVersionMatch=Exact',
    ...cause('FieldValueForbidden', 'resourceVersionMatch'),
  },
  { query: 'sendInitialEvents=true', ...cause('FieldValueForbidden', 'sendInitialEvents') },
  {
    query: 'watch=true&sendInitialEvents=true',
    ...cause('FieldValueForbidden', 'resourceVersionMatch'),
    message: 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
  },
  {
    query: 'watch=true&sendInitialEvents=true&resourceVersionMatch=Exact',
    ...cause('FieldValueForbidden', 'resourceVersionMatch'),
  },
  {
    query: 'watch=true&resourceVersionMatch=NotOlderThan&resourceVersion=1',
    ...cause('FieldValueForbidden', 'resourceVersionMatch'),
  },
  {
    query: 'watch=true&sendInitialEvents=perhaps&resourceVersionMatch=NotOlderThan',
    ...cause('FieldValueInvalid', 'sendInitialEvents'),
  },
];

const badWatches: readonly Case[] = [
  { query: 'watch=true&resourceVersion=abc', ...badRequest, message: 'resourceVersion' },
  { query: 'watch=true&timeoutSeconds=abc', ...badRequest, message: 'timeoutSeconds' },
  { query: 'watch=true&timeoutSeconds=-1', ...badRequest, message: 'timeoutSeconds' },
  { query: 'watch=true&fieldSelector=spec.age%3D1', ...badRequest, message: 'spec.age' },
  { query: 'watch=true&labelSelector=a%20in', ...badRequest },
];

interface WriteCase extends Refusal {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

const long = 'm'.repeat(129);

/** Writes with a wrong parameter. `options` is the kind of options that the message of Kubernetes names. */
const writes: readonly WriteCase[] = [
  { method: 'POST', path: persons, body: person('x'), options: 'CreateOptions' },
  { method: 'PUT', path: ann, body: person('ann', { age: 99 }), options: 'UpdateOptions' },
  { method: 'PATCH', path: ann, body: { spec: { age: 99 } }, options: 'PatchOptions' },
].flatMap(({ options, path, ...write }) => [
  {
    ...write,
    path: `${path}?dryRun=foo`,
    ...cause('FieldValueNotSupported', 'dryRun'),
    message: `${options}.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["foo"]: supported values: "All"`,
  },
  { ...write, path: `${path}?dryRun=All&dryRun=foo`, ...cause('FieldValueNotSupported', 'dryRun') },
  { ...write, path: `${path}?fieldValidation=Sloppy`, ...cause('FieldValueNotSupported', 'fieldValidation') },
  { ...write, path: `${path}?fieldManager=${long}`, ...cause('FieldValueTooLong', 'fieldManager') },
  { ...write, path: `${path}?fieldManager=a%07b`, ...cause('FieldValueInvalid', 'fieldManager') },
]);

const otherWrites: readonly WriteCase[] = [
  { method: 'PATCH', path: `${ann}?force=true`, body: { spec: { age: 99 } }, ...cause('FieldValueForbidden', 'force') },
  { method: 'DELETE', path: `${ann}?dryRun=foo`, ...cause('FieldValueNotSupported', 'dryRun') },
  { method: 'DELETE', path: ann, body: { dryRun: ['foo'] }, ...cause('FieldValueNotSupported', 'dryRun') },
  { method: 'DELETE', path: `${ann}?propagationPolicy=Slow`, ...cause('FieldValueNotSupported', 'propagationPolicy') },
  {
    method: 'DELETE',
    path: ann,
    body: { propagationPolicy: 'Slow' },
    ...cause('FieldValueNotSupported', 'propagationPolicy'),
  },
  {
    method: 'DELETE',
    path: ann,
    body: { propagationPolicy: 'Orphan', orphanDependents: true },
    ...cause('FieldValueInvalid', 'propagationPolicy'),
  },
  {
    method: 'DELETE',
    path: `${persons}?propagationPolicy=Slow`,
    ...cause('FieldValueNotSupported', 'propagationPolicy'),
  },
  { method: 'DELETE', path: `${persons}?labelSelector=a%20in`, ...badRequest },
  { method: 'DELETE', path: `${persons}?fieldSelector=spec.age%3D1`, ...badRequest },
  { method: 'DELETE', path: ann, body: { dryRun: 'All' }, ...badRequest },
];

describe('errors: parameters', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  beforeEach(async () => {
    await server.delete(persons);
    await server.create(persons, person('ann'));
  });

  after(() => server.stop());

  it('treats a negative limit as no limit, as kube-apiserver does', async () => {
    await server.create(persons, person('bob'));
    const { status, body } = await server.get(`${persons}?limit=-1`);
    expect([status, body.items.length, body.metadata.continue]).to.deep.equal([200, 2, undefined]);
  });

  for (const selector of ['fieldSelector=spec.name!=%zz', 'labelSelector=a!=%ff', 'fieldSelector=spec.name!=%']) {
    it(`refuses ${selector}, which is not percent-encoded UTF-8, and deletes nothing`, async () => {
      const expected = { ...badRequest, message: `"${selector}" is not valid percent-encoded UTF-8` };
      expectRefusal(await server.get(`${persons}?${selector}`), expected);
      expectRefusal(await server.get(`${persons}?limit=5&${selector}`), expected);
      expectRefusal(await leavesNoTrace(server, () => server.delete(`${persons}?${selector}`)), expected);
    });
  }

  for (const { query, rule, ...expected } of [...badLists, ...listOptions, ...badWatches]) {
    it(`refuses ${query.slice(0, 80)}${rule === undefined ? '' : ` [spec ${rule}]`}`, async () => {
      expectRefusal(await server.get(`${persons}?${query}`), expected);
    });
  }

  for (const selector of badSelectors) {
    const rule = selector.startsWith('label') ? '4.2-label-selector' : '4.2-field-selector';
    it(`refuses ${selector}, and reports the position of the mistake [spec ${rule}]`, async () => {
      const [name = '', ...text] = selector.split('=');
      const query = `${name}=${encodeURIComponent(text.join('='))}`;
      expectRefusal(await server.get(`${persons}?${query}`), { ...badRequest, message: /character \d+/ });
    });
  }

  it('lists the indexed fields in the refusal of a field that is not indexed [spec 1-indexed-only, 2.8-before-field-selector, 2.8-before-sort]', async () => {
    for (const query of ['sort=spec.age', 'fieldSelector=spec.age%3D5']) {
      const { body } = await server.get(`${persons}?${query}`);
      for (const field of ['spec.age', ...indexed]) expect(body.message).to.contain(field);
    }
  });

  it('refuses a field selector whose value does not have the type of the index', async () => {
    expectRefusal(await server.get(`${letters}?fieldSelector=spec.weight%3Dheavy`), {
      ...badRequest,
      message: 'spec.weight',
    });
  });

  it('refuses a continue token with another selector, with resourceVersion, or with resourceVersionMatch', async () => {
    await server.create(persons, person('bob'));
    const { body } = await server.get(`${persons}?limit=1`);
    const token = encodeURIComponent(body.metadata.continue as string);
    expectRefusal(await server.get(`${persons}?limit=1&labelSelector=a&continue=${token}`), badRequest);
    expectRefusal(await server.get(`${letters}?limit=1&continue=${token}`), badRequest);
    expectRefusal(await server.get(`${persons}?limit=1&resourceVersion=1&continue=${token}`), {
      ...badRequest,
      message: 'specifying resource version is not allowed when using continue',
    });
    expectRefusal(
      await server.get(`${persons}?limit=1&resourceVersionMatch=Exact&continue=${token}`),
      cause('FieldValueForbidden', 'resourceVersionMatch'),
    );
  });

  it('refuses a GET of an object with a resourceVersion that is not a number', async () => {
    expectRefusal(await server.get(`${ann}?resourceVersion=abc`), badRequest);
  });

  for (const { method, path, body, ...expected } of [...writes, ...otherWrites]) {
    const sent = method === 'DELETE' && body !== undefined ? ` with ${JSON.stringify(body)}` : '';
    it(`refuses ${method} ${path.slice(persons.length).slice(0, 60)}${sent}, and writes nothing`, async () => {
      expectRefusal(await leavesNoTrace(server, () => server.request(method, path, { body })), expected);
      expect((await server.get(ann)).body.metadata.version).to.equal(1);
    });
  }

  it('ignores unknown parameters', async () => {
    const { status } = await server.get(`${persons}?pretty=true&nobody=knows&page=1`);
    expect(status).to.equal(200);
  });
});
