import { expect } from 'chai';
import { person, persons } from './support/models/models.ts';
import { TestServer } from './support/servers/test-server.ts';

describe('A PATCH with the header Homeostat-Preconditions', () => {
  const ada = `${persons}/ada`;
  let server: TestServer;
  let uid: string;
  let resourceVersion: string;

  beforeEach(async () => {
    server = await TestServer.start();
    ({ uid, resourceVersion } = (await server.create(persons, person('ada'))).metadata);
  });
  afterEach(() => server.stop());

  const patch = (header: string, path = ada) =>
    server.patch(path, { spec: { age: 7 } }, { headers: { 'homeostat-preconditions': header } });

  it('is executed when the stored object matches', async () => {
    for (const header of [`uid=${uid}&resourceVersion=${resourceVersion}`, `uid=${encodeURIComponent(uid)}`]) {
      expect((await patch(header)).status).to.equal(200);
    }
  });

  it('is refused with 409 and the reason Conflict when the stored object does not match, also for a subresource', async () => {
    const other = '00000000-0000-4000-8000-000000000000';
    for (const header of [
      `uid=${other}`,
      `resourceVersion=${Number(resourceVersion) + 1}`,
      `uid=${uid}&resourceVersion=1`,
    ]) {
      for (const path of [ada, `${ada}/status`]) {
        const { status, body } = await patch(header, path);
        expect([header, status, body.reason]).to.deep.equal([header, 409, 'Conflict']);
      }
    }
    expect((await server.get(ada)).body.metadata.resourceVersion).to.equal(resourceVersion);
  });

  it('is refused with 404 when the object does not exist', async () => {
    expect((await patch(`uid=${uid}`, `${persons}/nobody`)).status).to.equal(404);
  });

  it('is refused with 400 and the name of the header when the header cannot be parsed', async () => {
    for (const header of [
      '',
      'uid',
      'uid=',
      'uid=%zz',
      'name=ada',
      `uid=${uid}&uid=${uid}`,
      `uid=${uid}, uid=${uid}&`,
    ]) {
      const { status, body } = await patch(header);
      expect([header, status]).to.deep.equal([header, 400]);
      expect(body.message).to.contain('header Homeostat-Preconditions');
    }
    expect((await patch('resourceVersion=x')).status).to.equal(400);
  });
});
