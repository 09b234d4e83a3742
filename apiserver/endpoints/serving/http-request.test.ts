import { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { systemClock } from '@homeostat/controller-runtime';
import { expect } from 'chai';
import { BodyCodec } from '../../decode/body-codec.ts';
import { ServedRequest } from '../../decode/read-body.ts';
import { fakeRequest, fakeSource } from './request.fixture.ts';
import { HttpRequest } from './http-request.ts';
import type { RequestUser } from '../routes/server-request.ts';
import { RequestSource } from './request-source.ts';

describe('ServerRequest', () => {
  const request = fakeRequest({
    method: 'POST',
    path: '/a/b',
    queryString: 'a=1&b=x%20y&a=2&empty',
    headers: { 'x-a': '1', accept: 'text/html' },
  });

  it('has method, path, headers and query', () => {
    expect(request.method).to.equal('POST');
    expect(request.path).to.equal('/a/b');
    expect(request.header('X-A')).to.equal('1');
    expect(request.header('constructor')).to.equal(undefined);
    expect({ ...request.headers }).to.deep.equal({ 'x-a': '1', accept: 'text/html' });
    expect(request.query('a')).to.equal('1');
    expect(request.queryAll('a')).to.deep.equal(['1', '2']);
    expect(request.query('b')).to.equal('x y');
    expect(request.query('empty')).to.equal('');
    expect(request.query('none')).to.equal(undefined);
    expect(() => request.pathVariable('name')).to.throw(TypeError, '"name"');
    expect(() => request.pathVariable('toString')).to.throw(TypeError);
  });

  it('is frozen [spec 4.3-immutable]', () => {
    const own = request.withPathVariables({ name: 'ann' }).withAttributes({ user: 'x' });
    const changes: readonly (() => boolean)[] = [
      () => Reflect.set(own, 'method', 'GET'),
      () => Reflect.set(own, 'path', '/'),
      () => Reflect.set(own, 'extra', 1),
      () => Reflect.set(own.headers, 'x-a', '2'),
      () => Reflect.set(own.pathVariables, 'name', 'bob'),
      () => Reflect.set(own.attributes, 'user', 'y'),
      () => Reflect.set(Object.getPrototypeOf(own) as object, 'json', () => 7),
    ];
    for (const change of changes) expect(change()).to.equal(false);
    expect(() => Object.assign(own, { path: '/' })).to.throw(TypeError);
    expect(own.pathVariable('name')).to.equal('ann');
    expect(own.attributes['user']).to.equal('x');
  });

  it('returns another request when attributes are added, and does not change itself', () => {
    const first = request.withAttributes({ a: 1 });
    const second = first.withAttributes({ b: 2 });
    expect({ ...request.attributes }).to.deep.equal({});
    expect({ ...first.attributes }).to.deep.equal({ a: 1 });
    expect({ ...second.attributes }).to.deep.equal({ a: 1, b: 2 });
    expect(second.path).to.equal('/a/b');
  });

  it('has a signal that aborts with the request, even when the signal is first read after the abort', () => {
    const source = fakeSource();
    const early = new HttpRequest(source).signal;
    const reason = new Error('gone');
    source.abort(reason);
    source.abort(new Error('again'));
    expect(early.reason).to.equal(reason);
    const late = fakeSource();
    late.abort(reason);
    expect(new HttpRequest(late).signal).to.include({ aborted: true, reason });
  });
});

describe('a large JSON body of a request', () => {
  it('is parsed by the worker thread for large bodies', async () => {
    const bodies = new BodyCodec(systemClock);
    await bodies.close();
    const send = (bytes: number): Promise<unknown> => {
      const incoming = new ServedRequest(new Socket());
      incoming.push(JSON.stringify('x'.repeat(bytes)));
      incoming.push(null);
      // Node sets `complete` at the end of a body.
      incoming.complete = true;
      const outgoing = new ServerResponse(incoming);
      const user = (): RequestUser => ({ username: 'ada', groups: [] });
      const source = new RequestSource({ incoming, outgoing, path: '/', queryString: '', bodies, user });
      return new HttpRequest(source).json().catch((error: unknown) => error);
    };
    expect(await send(1000)).to.have.length(1000);
    expect(await send(300_000)).to.have.property('message', 'the server is shutting down');
  });
});
