import { expect } from 'chai';
import { TestServer } from './support/servers/test-server.ts';

describe('a request target that is not a valid URL', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  after(() => server.stop());

  it('gets 400 with a Status in JSON, and the header audit-id', async () => {
    const answer = await server.raw('GET http://[::1 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(head)
      .to.match(/^content-type: application\/json$/im)
      .and.to.match(/^audit-id: .+$/im);
    expect(head).to.match(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(body)).to.include({ kind: 'Status', status: 'Failure', reason: 'BadRequest', code: 400 });
  });
});
