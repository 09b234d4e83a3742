import { expect } from 'chai';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { FilterFunction } from './filters.ts';
import { accept, contentType, predicate } from './predicates.ts';
import { fakeRequest } from '../serving/request.fixture.ts';
import { route } from './route-builder.ts';
import { definitionOf } from './router.ts';
import type { HandlerFunction, RouterFunction } from './router.ts';
import { ServerResponse } from './server-response.ts';

const base = '/apis/api.example.com/v1';
const says =
  (text: string): HandlerFunction =>
  () =>
    ServerResponse.ok().text(text);

/** Returns the response of a router as text; undefined when no route matches. */
async function ask(router: RouterFunction, path: string, method = 'GET', headers = {}): Promise<string | undefined> {
  const request = fakeRequest({ method, path: base + path, headers });
  const response = await router(request)?.(request);
  return (response?.body as { readonly text?: string } | undefined)?.text;
}

describe('a router', () => {
  it('is a function that returns a handler or undefined [spec 4.3-no-match, 4.3-router]', async () => {
    const router = route('api.example.com/v1').GET('/a', says('a')).POST('/a', says('posted')).build();
    expect(await ask(router, '/a')).to.equal('a');
    expect(await ask(router, '/a', 'POST')).to.equal('posted');
    expect(router(fakeRequest({ path: `${base}/b` }))).to.equal(undefined);
    expect(router(fakeRequest({ path: '/apis/other.example.com/v1/a' }))).to.equal(undefined);
    expect(router(fakeRequest({ path: `${base}/a`, method: 'PUT' }))).to.equal(undefined);
  });

  it('calls the handler of the first route that matches', async () => {
    const router = route('api.example.com/v1')
      .GET(
        '/:any',
        predicate((request) => request.pathVariable('any') !== 'a'),
        says('variable'),
      )
      .GET('/a', says('literal'))
      .GET('/:any', says('late'))
      .build();
    expect(await ask(router, '/a')).to.equal('literal');
    expect(await ask(router, '/b')).to.equal('variable');
  });

  it('passes the variables of the path to its handlers', async () => {
    const router = route('api.example.com/v1')
      .GET('/persons/:name/:what', (request) => ServerResponse.ok().text(Object.values(request.pathVariables).join()))
      .build();
    expect(await ask(router, '/persons/ann/greeting')).to.equal('ann,greeting');
  });

  it('may contain nested routes, other routers, and functions of the author that choose a handler for a request', async () => {
    const part = route().GET('/part', says('part')).build();
    const own: RouterFunction = (request) => (request.path.endsWith('/own') ? says('own') : undefined);
    const router = route('api.example.com/v1')
      .nest('/admin', (admin) => admin.GET('', says('root')).GET('/deep', says('deep')).add(part))
      .add(own)
      .build();
    expect(await ask(router, '/admin')).to.equal('root');
    expect(await ask(router, '/admin/deep')).to.equal('deep');
    expect(await ask(router, '/admin/part')).to.equal('part');
    expect(await ask(router, '/some/own')).to.equal('own');
    expect(await ask(router, '/part')).to.equal(undefined);
    expect(() => route('api.example.com/v1').add(route('b.example.com/v1').build())).to.throw('b.example.com/v1');
  });

  it('does not get the routes that its builder gets after build(); the router and its list of routes are frozen', () => {
    const builder = route('api.example.com/v1').GET('/a', says('a'));
    const router = builder.build();
    builder.GET('/b', says('b'));
    const definition = definitionOf(router);
    expect(definition?.entries).to.have.length(1);
    expect(Object.isFrozen(definition?.entries)).to.equal(true);
    expect(Object.isFrozen(definition?.entries[0])).to.equal(true);
    expect(Object.isFrozen(router)).to.equal(true);
  });

  it('refuses an invalid path, handler, predicate or option of a route, with an error that names the invalid part', () => {
    const builder = route('api.example.com/v1');
    expect(() => builder.GET('a', says('a'))).to.throw(TypeError, '"a"');
    expect(() => builder.GET('/a', undefined as never)).to.throw(TypeError, 'GET /a has no handler');
    expect(() => builder.GET('/a', {} as never, says('a'))).to.throw(TypeError, 'predicate of GET /a');
    expect(() => builder.GET('/a', says('a'), { deadlineMs: 0 })).to.throw(RangeError, 'deadlineMs of GET /a');
    expect(() => builder.nest('/:id', (inner) => inner.GET('/:id', says('a')))).to.throw(TypeError, '"id"');
  });
});

describe('the filters of a router', () => {
  const noting =
    (log: string[], name: string): FilterFunction =>
    async (request, next) => {
      log.push(`> ${name}`);
      const response = await next(request);
      log.push(`< ${name}`);
      return response;
    };

  it('run around all routes of their builder: the first filter is the outermost, the filters of a nested builder are the innermost', async () => {
    const log: string[] = [];
    const router = route('api.example.com/v1')
      .GET('/a', says('a'))
      .nest('/n', (inner) => inner.GET('/b', says('b')).filter(noting(log, 'inner')))
      .filter(noting(log, 'first'))
      .filter(noting(log, 'second'))
      .build();
    await ask(router, '/a');
    expect(log.splice(0)).to.deep.equal(['> first', '> second', '< second', '< first']);
    await ask(router, '/n/b');
    expect(log).to.deep.equal(['> first', '> second', '> inner', '< inner', '< second', '< first']);
  });

  it('change the request before the handler and the response after it', async () => {
    const router = route('api.example.com/v1')
      .GET('/a', (request) => ServerResponse.ok().text(`hello ${String(request.attributes['user'])}`))
      .before((request) => request.withAttributes({ user: 'ann' }))
      .after((_request, response) => (response as ServerResponse).text('changed'))
      .build();
    expect(await ask(router, '/a')).to.equal('changed');
    const plain = route('api.example.com/v1')
      .GET('/a', (request) => ServerResponse.ok().text(`hello ${String(request.attributes['user'])}`))
      .before(async (request) => request.withAttributes({ user: 'ann' }))
      .build();
    expect(await ask(plain, '/a')).to.equal('hello ann');
  });

  it('return the response for the errors that they select, whether the handler throws or rejects', async () => {
    const failing = (work: HandlerFunction): RouterFunction =>
      route('api.example.com/v1')
        .GET('/a', work)
        .onError(
          (error) => error instanceof RangeError,
          (error) => ServerResponse.status(418).text((error as Error).message),
        )
        .build();
    const thrown = failing(() => {
      throw new RangeError('range');
    });
    const rejected = failing(async () => {
      throw new RangeError('late range');
    });
    const other = failing(() => {
      throw new ApiError('Gone', 'other');
    });
    expect(await ask(thrown, '/a')).to.equal('range');
    expect(await ask(rejected, '/a')).to.equal('late range');
    expect(await ask(other, '/a').catch((error: unknown) => (error as Error).message)).to.equal('other');
  });
});

describe('predicates', () => {
  const json = accept('application/json');
  const xml = contentType('application/xml');
  const never = predicate(() => false);
  const always = predicate(() => true);
  const reason = (headers: Readonly<Record<string, string>>, of: typeof json): string | undefined =>
    of.mismatch(fakeRequest({ headers }))?.reason;

  it('give the reason why a route does not match', () => {
    expect(reason({ accept: 'text/html' }, json)).to.equal('NotAcceptable');
    expect(reason({ accept: '*/*' }, json)).to.equal(undefined);
    expect(reason({ 'content-type': 'text/plain' }, xml)).to.equal('UnsupportedMediaType');
    expect(reason({ 'content-type': 'application/xml; charset=utf-8' }, xml)).to.equal(undefined);
    expect(reason({}, never)).to.equal('NotFound');
  });

  it('are combined by `and` and `or`, and inverted by `negate`', () => {
    expect(reason({}, always.and(json))).to.equal(undefined);
    expect(reason({ accept: 'text/html' }, json.and(always))).to.equal('NotAcceptable');
    expect(reason({ accept: 'text/html' }, json.and(never))).to.equal('NotFound');
    expect(reason({ accept: 'text/html' }, json.and(xml))).to.equal('UnsupportedMediaType');
    expect(reason({ accept: 'text/html' }, json.or(always))).to.equal(undefined);
    expect(reason({ accept: 'text/html' }, never.or(json))).to.equal('NotAcceptable');
    expect(reason({ accept: 'image/png' }, json.or(accept('text/html')))).to.equal('NotAcceptable');
    expect(reason({}, never.negate())).to.equal(undefined);
    expect(reason({}, json.negate())).to.equal('NotFound');
  });

  it('throw TypeError when no media type is given, a media type is invalid, or a function does not return a boolean', () => {
    expect(() => accept()).to.throw(TypeError);
    expect(() => contentType('json')).to.throw(TypeError, '"json"');
    expect(() => reason({}, predicate((async () => true) as never))).to.throw(TypeError, 'true or false');
  });
});
