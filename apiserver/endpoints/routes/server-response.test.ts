import { expect } from 'chai';
import { isServerResponse, ServerResponse } from './server-response.ts';

describe('ServerResponse', () => {
  it('is frozen: each method returns another response [spec 4.3-immutable]', () => {
    const first = ServerResponse.ok();
    const second = first.header('X-A', '1').json({ a: 1 });
    expect(first.headers).to.deep.equal({});
    expect(first.body).to.deep.equal({ kind: 'none' });
    expect(second.headers).to.deep.equal({ 'x-a': '1', 'content-type': 'application/json' });
    for (const change of [
      () => Reflect.set(second, 'statusCode', 500),
      () => Reflect.set(second.headers, 'x-a', '2'),
      () => Reflect.set(second.body, 'kind', 'none'),
      () => Reflect.deleteProperty(second, 'body'),
      () => Reflect.defineProperty(second, 'extra', { value: 1 }),
      () => Reflect.set(ServerResponse.prototype, 'json', () => first),
    ])
      expect(change()).to.equal(false);
    expect(() => Object.assign(second, { statusCode: 500 })).to.throw(TypeError);
    expect(second.statusCode).to.equal(200);
  });

  it('copies the bytes and lists passed to it', () => {
    const bytes = Uint8Array.of(1, 2);
    const cookies = ['a=1'];
    const response = ServerResponse.ok().header('Set-Cookie', cookies).bytes(bytes);
    bytes[0] = 9;
    cookies.push('b=2');
    expect(response.body).to.deep.equal({ kind: 'bytes', bytes: Uint8Array.of(1, 2) });
    expect(response.headers['set-cookie']).to.deep.equal(['a=1']);
  });

  it('refuses header names and values that HTTP does not allow, and headers that only the server may set', () => {
    for (const value of ['a\r\nX-Evil: 1', 'a\nb', 'a\0b', 'ä\u{1F600}'])
      expect(() => ServerResponse.ok().header('X-A', value), JSON.stringify(value)).to.throw(TypeError);
    for (const name of ['X A', 'X:', '', 'X\r\n', 'ä'])
      expect(() => ServerResponse.ok().header(name, '1'), JSON.stringify(name)).to.throw(TypeError);
    expect(() => ServerResponse.ok().header('X-A', ['fine', 'a\r\nb'])).to.throw(TypeError);
    expect(() => ServerResponse.created('/x\r\nSet-Cookie: a=1')).to.throw(TypeError);
    for (const name of ['Content-Length', 'transfer-encoding', 'Connection'])
      expect(() => ServerResponse.ok().header(name, '1')).to.throw(TypeError, 'only the server may set it');
  });

  it('has the status of the static method that created it', () => {
    expect(ServerResponse.ok().statusCode).to.equal(200);
    expect(ServerResponse.created('/x')).to.deep.include({ statusCode: 201, headers: { location: '/x' } });
    expect(ServerResponse.accepted().statusCode).to.equal(202);
    expect(ServerResponse.noContent().statusCode).to.equal(204);
    expect(ServerResponse.notFound().statusCode).to.equal(404);
    expect(ServerResponse.ok().status(418).statusCode).to.equal(418);
    for (const code of [99, 100, 600, 200.5, Number.NaN])
      expect(() => ServerResponse.status(code)).to.throw(RangeError);
  });

  it('keeps a Content-Type that was set before the body', () => {
    const html = ServerResponse.ok().header('Content-Type', 'text/html').text('<p>');
    expect(html.headers).to.deep.equal({ 'content-type': 'text/html' });
  });

  it('is recognized when another copy of the package created it', () => {
    const foreign = { [Symbol.for('homeostat.serverResponse')]: true };
    expect(isServerResponse(ServerResponse.ok())).to.equal(true);
    expect(isServerResponse(foreign)).to.equal(true);
    for (const other of [undefined, null, {}, 'x', new Response()]) expect(isServerResponse(other)).to.equal(false);
  });
});
