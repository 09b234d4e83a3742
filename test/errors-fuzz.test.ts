import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { expect } from 'chai';
import fc from 'fast-check';
import { letters, machines, person, persons } from './support/models.ts';
import { createNamespaces } from './support/namespaces.ts';
import { TestServer } from './support/test-server.ts';

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

/** What may stand in a request line. */
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

const path = fc
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

const query = fc
  .array(fc.tuple(fc.oneof(fc.constantFrom(...parameters), visible), value), { maxLength: 4 })
  .map((pairs) => pairs.map((pair) => pair.join('=')).join('&'))
  // A watch would never end by itself.
  .map((text) => (text.includes('watch') ? `${text}&timeoutSeconds=1&watch=false` : text));

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

const body = fc.oneof(
  almostPerson,
  almostPerson.map((text) => text.slice(0, text.length / 2)),
  operations.map((list) => JSON.stringify(list)),
  fc.json(),
  fc.string(),
  fc.constantFrom('', 'null', '[]', '{"__proto__":{"a":1}}', 'a: &a [*a]', '? ? ?', '{"spec":{"$patch":"x"}}'),
);

const headers = fc.dictionary(
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

/** Its answer has more than one line: the first value counts, and all but `false` and `0` means a watch. */
const watchOfTwo = {
  method: 'GET',
  path: '/api/v1/namespaces',
  query: 'watch=a&timeoutSeconds=1&watch=false',
  body: '[]',
  headers: {},
  type: '',
};

describe('errors: whatever comes', () => {
  let server: TestServer;
  const rejections: unknown[] = [];
  const onRejection = (reason: unknown): number => rejections.push(reason);

  before(async () => {
    process.on('unhandledRejection', onRejection);
    server = await TestServer.start();
    await createNamespaces(server.api.client, ['here']);
    await server.create(persons, person('ann'));
  });

  after(async () => {
    await server.stop();
    process.off('unhandledRejection', onRejection);
  });

  async function expectAlive(): Promise<void> {
    expect((await server.get('/livez')).text).to.equal('ok');
    const name = `alive-${Math.floor(performance.now())}`;
    expect((await server.post(persons, person(name))).status).to.equal(201);
    expect((await server.delete(`${persons}/${name}`)).status).to.equal(200);
    expect(rejections).to.deep.equal([]);
    expect(({} as Record<string, unknown>)['a']).to.equal(undefined);
  }

  it('answers any request with something better than a 500, in its documented form', async () => {
    const request = fc.record({
      method: fc.constantFrom(...methods),
      path,
      query,
      body,
      headers,
      type: fc.constantFrom(...types),
    });
    await fc.assert(
      fc.asyncProperty(request, async (sent) => {
        const target = sent.query === '' ? sent.path : `${sent.path}?${sent.query}`;
        const hasBody = sent.method !== 'TRACE';
        const answer = await server.request(sent.method, target, {
          headers: sent.headers,
          type: sent.type,
          ...(hasBody ? { body: sent.body } : {}),
        });
        // A revision that is not here yet is waited for, and the client then told to come again.
        if (answer.status === 504) expect(answer.text).to.include('ResourceVersionTooLarge');
        else expect(answer.status, answer.text).to.be.within(200, 499);
        const isError = answer.status >= 400 && sent.method !== 'HEAD';
        const isProblem = answer.headers['content-type'] === 'application/problem+json';
        if (isError && !isProblem) expect(answer.body, answer.text).to.include({ kind: 'Status', code: answer.status });
      }),
      { numRuns: 2_000, plugins: [fc.timeout(10_000)], examples: [[watchOfTwo]] },
    );
    await expectAlive();
  });

  it('survives bytes that are no HTTP, and connections that break', async () => {
    const pieces = fc.array(
      fc.oneof(
        fc.constantFrom(
          `POST ${persons} HTTP/1.1\r\nHost: localhost\r\n`,
          `GET ${persons}?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n`,
          'Content-Length: 10\r\n\r\n',
          'Transfer-Encoding: chunked\r\n\r\n',
          '5\r\nabcde\r\n',
          '\r\n\r\n',
          'Expect: 100-continue\r\n',
          'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
        ),
        fc.string({ unit: 'binary' }),
      ),
      { maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(pieces, fc.boolean(), async (sent, cutOff) => {
        const socket = connect({ host: '127.0.0.1', port: server.port });
        // A reset is as good an answer as any to nonsense.
        const answered = textOf(socket).catch(() => '');
        socket.write(sent.join(''));
        if (cutOff) socket.resetAndDestroy();
        else socket.end();
        expect(await answered).to.not.match(/^HTTP\/1\.1 5/);
      }),
      { numRuns: 500, plugins: [fc.timeout(15_000)] },
    );
    await expectAlive();
  });
});
