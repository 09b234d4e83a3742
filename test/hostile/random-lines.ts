// Two kinds of random input: requests whose method, path, headers and body are chosen independently of each other, and
// bytes that are not a request.
import fc from 'fast-check';
import { letters, machines, person, persons } from '../support/models/models.ts';
import type { HostileRequest } from './hostile-request.ts';
import { visible } from './random-values.ts';

/**
 * Any character of Unicode. The unit `binary` of fast-check is not used, because it takes a second of CPU time to make
 * a table of all characters.
 */
const characters = fc.integer({ min: 0, max: 0x10_ff_ff }).map((codePoint) => String.fromCodePoint(codePoint));

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
  // A request for a future revision makes the server wait, so future revisions are replaced. Another test sends such a
  // request.
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

export const anything = fc
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

export const raw = fc
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
        fc.string({ unit: characters }),
      ),
      { maxLength: 4 },
    ),
    fc.boolean(),
  )
  .map(([pieces, cutOff]): HostileRequest => ({ raw: pieces, cutOff }));
