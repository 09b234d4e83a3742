import { route, ServerResponse } from '@homeostat/apiserver/endpoints';
import { ApiError, defineModel } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

const base = '/apis/api.example.com/v1';
const traps = '/apis/traps.example.com/v1/traps';

const circle: Record<string, unknown> = {};
circle['self'] = circle;

/** Errors with the name ApiError that cannot be turned into a Status. */
const unwritable: Readonly<Record<string, Error>> = {
  'details-that-are-no-json': new ApiError('Invalid', 'secret', { details: circle }),
  'no-code': Object.assign(new Error('secret'), { name: 'ApiError', reason: 'Invalid', details: circle }),
};

/** A model whose `validate` throws an error from {@link unwritable}: the error whose key is the object's name. */
const trap = defineModel({
  gvk: 'traps.example.com/v1/Trap',
  plural: 'traps',
  singular: 'trap',
  schema: { type: 'object', properties: {} },
  validate: ({ metadata }) => {
    throw unwritable[metadata.name] ?? new Error('no such trap');
  },
});

describe('errors and warnings of plugins', () => {
  let server: TestServer;
  let errors: number;
  let warnings: unknown[];

  before(async () => {
    const nothing = (): void => undefined;
    const logger = {
      debug: nothing,
      info: nothing,
      warn: (...line: unknown[]) => void warnings.push(line),
      error: () => void (errors += 1),
    };
    server = await TestServer.start({ logger });
    server.api.schemeManager.register(trap);
    await server.api.whenReady(trap);
    const builder = route('api.example.com/v1')
      .GET('/errors/:name', (request) => {
        throw unwritable[request.pathVariable('name')] ?? new Error('no such error');
      })
      .GET('/numbers', () =>
        ServerResponse.ok()
          .header('content-encoding', 'gzip')
          .header('set-cookie', 'a=b')
          .text(7 as never),
      )
      .GET('/locked', () => {
        const pieces = new ReadableStream<string>();
        pieces.getReader();
        return ServerResponse.ok().header('content-encoding', 'gzip').header('etag', '"1"').stream(pieces);
      });
    const owned = server.api.endpoints.forOwner('errors');
    owned.add(builder.build());
    owned.open();
  });

  beforeEach(() => {
    errors = 0;
    warnings = [];
  });

  after(async () => server.stop());

  it('are logged with kind, object and plugin when a write causes a warning, such as an unknown field', async () => {
    const note = defineModel({
      gvk: 'notes.example.com/v1/Note',
      plural: 'notes',
      schema: { type: 'object', properties: {} },
    });
    server.api.schemeManager.register(note);
    await server.api.whenReady(note);
    const written = { metadata: { name: 'a' }, colour: 'red' };
    await server.api.createPluginClient('paint').create(note, written);
    const line = { kind: 'Note', object: 'a', fieldManager: 'plugin:paint', warning: 'unknown field "colour"' };
    expect(warnings).to.deep.equal([[line, 'the response to a write has a warning']]);
  });

  for (const name of Object.keys(unwritable)) {
    it(`are logged, and the response is a 500, when they cannot be turned into a Status: ${name}`, async () => {
      const created = { apiVersion: 'traps.example.com/v1', kind: 'Trap', metadata: { name } };
      for (const answer of [await server.get(`${base}/errors/${name}`), await server.post(traps, created)]) {
        expectRefusal(answer, { reason: 'InternalError' });
        expect(answer.text).not.to.contain('secret');
        expect(answer.headers).to.have.property('audit-id');
      }
      expect(errors).to.equal(2);
    });
  }

  for (const path of ['/numbers', '/locked']) {
    it(`remove the headers that an endpoint has set, when the response of the endpoint cannot be sent: ${path}`, async () => {
      const answer = await server.get(base + path);
      expectRefusal(answer, { reason: 'InternalError' });
      for (const name of ['content-encoding', 'set-cookie', 'etag']) expect(answer.headers).not.to.have.property(name);
    });
  }
});
