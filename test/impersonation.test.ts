import { expect } from 'chai';
import { persons } from './support/models.ts';
import { expectRefusal } from './support/refusal.ts';
import { TestServer } from './support/test-server.ts';

describe('a request that asks to be judged as another user', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  after(() => server.stop());

  for (const header of ['Impersonate-User', 'Impersonate-Uid', 'Impersonate-Group', 'Impersonate-Extra-scopes'])
    it(`is refused, by its header ${header}`, async () => {
      const headers = { [header]: 'eve' };
      const named = header.replace('scopes', 'Scopes');
      const refusal = { reason: 'Forbidden', message: `send no header ${named}` } as const;
      for (const path of [persons, '/apis', '/openapi/v3', '/export'])
        expectRefusal(await server.get(path, headers), refusal);
      const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'evil' } };
      expectRefusal(await server.post('/api/v1/namespaces', body, { headers }), refusal);
      expect((await server.get('/api/v1/namespaces/evil')).status).to.equal(404);
    });

  it('is told no more of a long header than fits into a message', async () => {
    const { body } = await server.get(persons, { [`Impersonate-Extra-${'x'.repeat(8000)}`]: 'y' });
    expect(body).to.include({ code: 403 });
    expect(body.message).to.have.length.below(400);
  });
});
