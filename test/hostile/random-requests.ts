import fc from 'fast-check';
import { letters, machines, person, persons } from '../support/models.ts';
import type { HostileRequest } from './hostile-request.ts';
import { newThing, things } from './models.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'LOCK'];
const types = [
  '',
  'application/json',
  'application/yaml',
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
  'text/plain',
  'application/json; charset=utf-8',
  ';;;',
];
const parameters = [
  'watch',
  'page',
  'size',
  'limit',
  'continue',
  'sort',
  'labelSelector',
  'fieldSelector',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'allowWatchBookmarks',
  'dryRun',
  'fieldValidation',
  'fieldManager',
  'force',
  'propagationPolicy',
];

/** The characters of a request line. */
const visible = fc.string({
  unit: fc.constantFrom(...Array.from('abz019-._~%/?&=+,:;@!$\'()*[]<>"\\^`{|}')),
  maxLength: 30,
});

const segment = fc.oneof(
  fc.constantFrom(
    'ann',
    'status',
    'persons',
    'letters',
    'namespaces',
    'here',
    'watch',
    '..',
    '.',
    '%00',
    '%ff',
    '%2f',
    '__proto__',
  ),
  visible,
);

const anyPath = fc
  .tuple(
    fc.constantFrom(
      persons,
      letters,
      machines,
      letters.replace('letters', 'namespaces/here/letters'),
      '/apis',
      '/api/v1',
      '',
      '/livez',
    ),
    fc.array(segment, { maxLength: 3 }),
  )
  .map(([base, segments]) => [base, ...segments].join('/') || '/');

const value = fc.oneof(
  fc.constantFrom(
    'true',
    'All',
    '1',
    '0',
    '-1',
    'spec.name,asc',
    'metadata.name=ann',
    'a%20in%20(b',
    '',
    '99999999999999999999',
    '9007199254740992',
    '__proto__',
  ),
  visible.map((text) => encodeURIComponent(text)),
  visible,
);

const anyQuery = fc
  .array(fc.tuple(fc.oneof(fc.constantFrom(...parameters), visible), value), { maxLength: 4 })
  .map((pairs) => pairs.map((pair) => pair.join('=')).join('&'))
  // The server waits for a future revision; one such request elsewhere is enough.
  .map((text) => text.replaceAll(/resourceVersion=\d{5,}/g, 'resourceVersion=1'));

const almostPerson = fc
  .record({
    metadata: fc.oneof(
      fc.constant({ name: 'ann' }),
      fc.record({
        name: fc.constant('ann'),
        labels: fc.jsonValue(),
        finalizers: fc.jsonValue(),
        version: fc.jsonValue(),
      }),
      fc.jsonValue(),
    ),
    spec: fc.oneof(
      fc.constant({ name: 'A' }),
      fc.record({ name: fc.jsonValue(), tags: fc.jsonValue(), otherPerson: fc.jsonValue() }),
    ),
    status: fc.jsonValue(),
  })
  .map((fields) => JSON.stringify({ ...person('ann'), ...fields }));

const operations = fc.array(
  fc.record({
    op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'other'),
    path: fc.oneof(
      fc.constantFrom('/spec', '/spec/tags/-', '', '/metadata', '/__proto__/x', '/spec/constructor/prototype/y'),
      fc.string(),
    ),
    from: fc.constantFrom('/spec', '/metadata', '', '/nothing'),
    value: fc.jsonValue(),
  }),
  { maxLength: 4 },
);

const anyBody = fc.oneof(
  almostPerson,
  almostPerson.map((text) => text.slice(0, text.length / 2)),
  operations.map((list) => JSON.stringify(list)),
  fc.json(),
  fc.string(),
  fc.constantFrom('', 'null', '[]', '{"__proto__":{"a":1}}', 'a: &a [*a]', '? ? ?', '{"spec":{"$patch":"x"}}'),
);

const anyHeaders = fc.dictionary(
  fc.constantFrom(
    'accept',
    'origin',
    'content-encoding',
    'last-event-id',
    'audit-id',
    'if-match',
    'x-other',
    'cookie',
    'range',
  ),
  fc.oneof(fc.constantFrom('*/*', 'application/yaml', 'text/event-stream', 'gzip', 'null', ',,,', 'q=', ';'), visible),
  { maxKeys: 3 },
);

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Texts that become large or deep. */
const repeated = fc
  .tuple(
    fc.constantFrom('a', '[', '{"a":', '"a",', '[],', '{},', '- ', '&a ', '\\', '\u0000', '😀', 'a.', '(', '~1', '%'),
    fc.integer({ min: 1, max: 3000 }),
  )
  .map(([text, times]) => text.repeat(times));

const json: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue(),
  repeated,
  fc.array(fc.jsonValue({ maxDepth: 1 }), { minLength: 20, maxLength: 200 }),
);

const thingName = fc.integer({ min: 0, max: 20 }).map((number) => `random-${number}`);

const almostThing = fc
  .tuple(
    thingName,
    fc.record(
      { name: json, weight: json, tags: json, list: json, set: json, keyed: json, map: json, any: json, other: json },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        labels: json,
        annotations: json,
        finalizers: fc.constantFrom<unknown>([], null, 'x', {}),
        ownerReferences: json,
        managedFields: json,
        generateName: json,
        uid: json,
      },
      { requiredKeys: [] },
    ),
  )
  .map(([name, spec, metadata]) => ({ name, text: JSON.stringify(newThing(name, spec, metadata)) }));

const yaml = fc.oneof(
  fc.string(),
  repeated,
  almostThing.map(({ text }) => text),
  almostThing.map(({ text }) => `--- # a comment\n${text}\n...\n`),
  fc
    .tuple(
      fc.constantFrom(
        'a: &a [1]\nb: *a',
        '? [a]\n: b',
        'a: !!binary x',
        '%YAML 1.1\n---\na: yes',
        'a: |\n  b\n c',
        '<<: {a: 1}',
        'a: .nan',
        '- - - a',
      ),
      repeated,
    )
    .map(([start, more]) => `${start}\nc: "${more.replaceAll(/["\\]/g, '')}"\n`),
);

const selector = fc.oneof(
  visible,
  repeated,
  fc
    .array(
      fc
        .tuple(
          fc.constantFrom('spec.name', 'spec.weight', 'metadata.name', 'app', 'a/b', '', 'metadata.labels', 'x.y'),
          fc.constantFrom('=', '!=', '==', ' in (a,b)', ' notin (a)', '>', '<', '', ' exists', '=(', ')'),
          visible,
        )
        .map((parts) => parts.join('')),
      { maxLength: 120 },
    )
    .map((all) => all.join(',')),
);

const selecting = fc
  .tuple(
    fc.constantFrom(things, persons, letters, '/api/v1/namespaces'),
    fc.constantFrom('labelSelector', 'fieldSelector', 'sort', 'continue'),
    selector,
    fc.constantFrom('GET', 'DELETE'),
  )
  .map(([path, parameter, text, method]): HostileRequest => ({
    method,
    // Dry-run deletions leave the objects for the next request.
    path: `${path}?${parameter}=${encodeURIComponent(text).slice(0, 8000)}${method === 'DELETE' ? '&dryRun=All' : ''}`,
  }));

const watching = fc
  .tuple(
    fc.constantFrom(things, persons, '/api/v1/namespaces'),
    fc.constantFrom('', '0', '1', '5', '999', '-1', 'x', '1e3'),
    selector,
    fc.constantFrom(
      '',
      'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&',
      'allowWatchBookmarks=true&',
      'timeoutSeconds=-1&',
      'timeoutSeconds=1&',
    ),
    fc.constantFrom('*/*', 'text/event-stream', 'application/json;as=Table;g=meta.k8s.io;v=v1', 'application/yaml'),
  )
  .map(([path, revision, text, more, accept]): HostileRequest => ({
    method: 'GET',
    path: `${path}?watch=true&${more}resourceVersion=${revision}&labelSelector=${encodeURIComponent(text).slice(0, 2000)}`,
    headers: { accept },
  }));

const pointer = fc.oneof(
  fc.constantFrom(
    '/spec',
    '/spec/any',
    '/spec/any/a',
    '/spec/tags/-',
    '/spec/tags/0',
    '/metadata/labels',
    '',
    '/spec/any/__proto__/x',
  ),
  repeated.map((text) => `/spec/${text}`),
  visible,
);

const patching = fc
  .tuple(
    fc.constantFrom(`${things}/random-1`, `${persons}/ann`, `${things}/none`),
    fc.array(
      fc.record(
        {
          op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'x'),
          path: pointer,
          from: pointer,
          value: json,
        },
        { requiredKeys: ['op'] },
      ),
      { maxLength: 60 },
    ),
    fc.constantFrom(
      'application/json-patch+json',
      'application/merge-patch+json',
      'application/strategic-merge-patch+json',
      '',
    ),
  )
  .map(([path, patch, type]): HostileRequest => ({
    method: 'PATCH',
    path,
    headers: { 'content-type': type },
    body: JSON.stringify(patch),
  }));

const merging = fc
  .tuple(
    fc.constantFrom(`${things}/random-1`, `${persons}/ann`),
    fc.record({ metadata: json, spec: json, status: json, kind: json }, { requiredKeys: [] }),
  )
  .map(([path, patch]): HostileRequest => ({
    method: 'PATCH',
    path,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify(patch),
  }));

const applying = fc
  .tuple(
    almostThing,
    fc.constantFrom(
      '',
      'fieldManager=a',
      'fieldManager=b&force=true',
      'fieldManager=b',
      `fieldManager=${'m'.repeat(200)}`,
    ),
  )
  .map(([{ name, text }, options]): HostileRequest => ({
    method: 'PATCH',
    path: `${things}/${name}?${options}`,
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: text,
  }));

const writing = fc
  .tuple(
    almostThing,
    fc.constantFrom('POST', 'PUT'),
    fc.constantFrom('', 'fieldValidation=Strict', 'dryRun=All', 'fieldManager='),
  )
  .map(([{ name, text }, method, options]): HostileRequest => ({
    method,
    path: `${things}${method === 'PUT' ? `/${name}` : ''}?${options}`,
    headers: { 'content-type': 'application/json' },
    body: text,
  }));

const reading = fc
  .tuple(
    yaml,
    fc.constantFrom(things, persons, '/api/v1/namespaces', definitions, '/apis/authentication.k8s.io/v1/tokenreviews'),
  )
  .map(([text, path]): HostileRequest => ({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/yaml' },
    body: text,
  }));

const keyword = fc.constantFrom(
  'type',
  'properties',
  'items',
  'pattern',
  'enum',
  'oneOf',
  'not',
  'default',
  'required',
  'additionalProperties',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-list-type',
  'x-kubernetes-validations',
  'format',
  '$ref',
  'maximum',
  'nullable',
);

const schema: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  schema: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom({ type: 'string' }, { type: 'object' }, { type: 'array' }, {}),
    fc.dictionary(
      keyword,
      fc.oneof(
        json,
        tie('schema'),
        fc.array(tie('schema'), { maxLength: 4 }),
        fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'c d', ''), tie('schema')),
      ),
    ),
  ),
})).schema;

const defining = fc
  .tuple(fc.integer({ min: 0, max: 4 }), schema, json, fc.constantFrom('POST', 'PUT'))
  .map(([number, openAPIV3Schema, more, method]): HostileRequest => {
    const names = { plural: `defined${number}s`, singular: `defined${number}`, kind: `Defined${number}` };
    const version = {
      name: 'v1',
      served: true,
      storage: true,
      schema: { openAPIV3Schema },
      additionalPrinterColumns: more,
    };
    const name = `${names.plural}.defined.example.com`;
    const body = JSON.stringify({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name },
      spec: { group: 'defined.example.com', scope: 'Cluster', names, versions: [version] },
    });
    // Dry runs only, since served kinds would pile up.
    const path = `${definitions}${method === 'PUT' ? `/${name}` : ''}?dryRun=All`;
    return { method, path, headers: { 'content-type': 'application/json' }, body };
  });

const protobuf = fc
  .tuple(
    fc.uint8Array({ maxLength: 2000 }),
    fc.constantFrom('/api/v1/namespaces', '/apis/coordination.k8s.io/v1/namespaces/default/leases', things),
  )
  .map(([bytes, path]): HostileRequest => ({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/vnd.kubernetes.protobuf' },
    body: Buffer.concat([Buffer.from('k8s\0'), bytes]),
  }));

const anything = fc
  .record({
    method: fc.constantFrom(...methods),
    path: anyPath,
    query: anyQuery,
    body: anyBody,
    headers: anyHeaders,
    type: fc.constantFrom(...types),
  })
  .map(({ method, path: base, query: text, body: sent, headers: given, type }): HostileRequest => ({
    method,
    path: text === '' ? base : `${base}?${text}`,
    headers: { ...(type === '' ? {} : { 'content-type': type }), ...given },
    ...(method === 'TRACE' ? {} : { body: sent }),
  }));

const raw = fc
  .tuple(
    fc.array(
      fc.oneof(
        fc.constantFrom(
          `POST ${persons} HTTP/1.1\r\nHost: localhost\r\n`,
          `GET ${persons}?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n`,
          `GET ${persons} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(50),
          'GET http:// HTTP/1.1\r\nHost: localhost\r\n\r\n',
          'GET http://[::1 HTTP/1.1\r\nHost: localhost\r\n\r\n',
          'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
          'Content-Length: 10\r\n\r\n',
          'Transfer-Encoding: chunked\r\n\r\n',
          '5\r\nabcde\r\n',
          '\r\n\r\n',
          'Expect: 100-continue\r\n',
          'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
          `X: ${'a'.repeat(20_000)}\r\n`,
        ),
        fc.string({ unit: 'binary' }),
      ),
      { maxLength: 4 },
    ),
    fc.boolean(),
  )
  .map(([pieces, cutOff]): HostileRequest => ({ raw: pieces, cutOff }));

/** A request of any kind; each kind occurs in proportion to its weight. */
const hostileRequest: fc.Arbitrary<HostileRequest> = fc.oneof(
  { weight: 8, arbitrary: anything },
  { weight: 4, arbitrary: writing },
  { weight: 4, arbitrary: patching },
  { weight: 2, arbitrary: merging },
  { weight: 4, arbitrary: applying },
  { weight: 3, arbitrary: reading },
  { weight: 3, arbitrary: selecting },
  { weight: 2, arbitrary: watching },
  { weight: 2, arbitrary: defining },
  { weight: 1, arbitrary: protobuf },
  { weight: 3, arbitrary: raw },
);

/** This many requests, the same for the same seed. */
export function randomRequests(count: number, seed: number): readonly HostileRequest[] {
  return fc.sample(hostileRequest, { seed, numRuns: count });
}
