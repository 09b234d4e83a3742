import { expect } from 'chai';
import {
  RestController,
  GetMapping,
  ApiVersion,
  predicate,
  route,
  ServerResponse,
} from '@homeostat/apiserver/endpoints';
import { person, persons } from './support/models/models.ts';
import { TestServer } from './support/servers/test-server.ts';

/** The headers of a user without any role, not even the role for discovery. */
const eve = { 'Impersonate-User': 'eve', 'Impersonate-Group': 'system:unauthenticated' };

/**
 * The method, the text that follows `persons` in the path, and the text that follows `cannot` in the message of the
 * refusal.
 */
type Row = readonly [method: string, path: string, refused: string];

const inGroup = 'in API group "people.example.com"';
const cluster = `${inGroup} at the cluster scope`;

const rows: readonly Row[] = [
  ['GET', '', `list resource "persons" ${cluster}`],
  ['HEAD', '', `list`],
  ['GET', '?watch=true', `watch resource "persons" ${cluster}`],
  ['GET', '?watch=1', `watch`],
  ['GET', '?watch=True', `watch`],
  ['GET', '?watch=false', `list`],
  ['GET', '?watch=', `list`],
  ['GET', '?fieldSelector=metadata.name%3Dada', `list`],
  ['POST', '', `create resource "persons" ${cluster}`],
  ['POST', '?dryRun=All', `create resource "persons" ${cluster}`],
  ['DELETE', '', `deletecollection resource "persons" ${cluster}`],
  ['PUT', '', `update`],
  ['GET', '/ada', `get resource "persons" ${cluster}`],
  ['GET', '/ada?watch=true', `get`],
  ['HEAD', '/ada', `get`],
  ['PUT', '/ada', `update`],
  ['PATCH', '/ada', `patch`],
  ['PATCH', '/ada?dryRun=All&fieldManager=x', `patch`],
  ['DELETE', '/ada', `delete`],
  ['POST', '/ada', `create`],
  ['GET', '/ada/status', `get resource "persons/status" ${cluster}`],
  ['PUT', '/ada/status', `update resource "persons/status" ${cluster}`],
  ['PATCH', '/ada/status', `patch resource "persons/status" ${cluster}`],
  ['POST', '/ada/status', `create resource "persons/status" ${cluster}`],
  ['HEAD', '/ada/scale', `get resource "persons/scale" ${cluster}`],
  ['OPTIONS', '/ada', `options`],
];

describe('the permission that a request needs', () => {
  let server: TestServer;

  /** Returns the body of the response that refuses a request of a user without any permission. */
  const refusalOf = async (
    method: string,
    path: string,
  ): Promise<{ code: number; message: string; details: unknown }> => {
    const { status, body } = await server.request(method, path, { headers: eve });
    expect(status, `${method} ${path}`).to.equal(403);
    return body ?? {};
  };

  before(async () => {
    server = await TestServer.start();
    const routes = server.api.endpoints.forOwner('demo');
    const permission = { verb: 'get', group: 'people.example.com', resource: 'persons/greeting', nameFrom: 'name' };
    routes.add(
      route('demo.example.com/v1')
        .GET('/persons/:name/greeting', () => ServerResponse.ok().text('hello'), { permission })
        .GET('/hello', () => ServerResponse.ok().text('hello'))
        .build(),
    );
    routes.add(Letters);
    routes.open();
  });

  after(() => server.stop());

  for (const [method, path, refused] of rows)
    it(`is "${refused}" for ${method} ${persons}${path}`, async () => {
      const { message } = await refusalOf(method, persons + path);
      if (method !== 'HEAD') expect(message).to.include(`User "eve" cannot ${refused}`);
    });

  it('is watch for a GET of the old path /watch/<plural>', async () => {
    const [, , group, version] = persons.split('/').slice(0, 4);
    const base = `/apis/${group}/${version}/watch/persons`;
    expect((await refusalOf('GET', base)).message).to.include('cannot watch resource "persons"');
    expect((await refusalOf('GET', `${base}/ada`)).message).to.include('persons.people.example.com "ada" is forbidden');
    expect((await refusalOf('PUT', `${base}/ada`)).message).to.include('cannot update resource "persons"');
  });

  it('includes the name of the object when a list or watch selects by metadata.name', async () => {
    for (const query of ['fieldSelector=metadata.name=ada', 'watch=1&fieldSelector=spec.age=3,metadata.name==ada'])
      expect((await refusalOf('GET', `${persons}?${query}`)).message).to.match(/^persons.people.example.com "ada" is/);
    for (const query of [
      'fieldSelector=metadata.name!=ada',
      'fieldSelector=metadata.name%3E%3E',
      'labelSelector=metadata.name=ada',
    ])
      expect((await refusalOf('GET', `${persons}?${query}`)).message).to.match(/^persons.people.example.com is/);
    expect((await refusalOf('DELETE', `${persons}?fieldSelector=metadata.name=ada`)).message).to.match(
      /^persons.people.example.com is/,
    );
  });

  it('includes the namespace that the path names, which for a Namespace object is the name of the object', async () => {
    const place = 'in API group "" in the namespace "shop"';
    expect((await refusalOf('GET', '/api/v1/namespaces/shop')).message).to.include(
      `get resource "namespaces" ${place}`,
    );
    expect((await refusalOf('PUT', '/api/v1/namespaces/shop/finalize')).message).to.include(
      `update resource "namespaces/finalize" ${place}`,
    );
    expect((await refusalOf('GET', '/api/v1/namespaces/shop/events')).message).to.include(
      `list resource "events" ${place}`,
    );
    expect((await refusalOf('GET', '/api/v1/events')).message).to.include(
      'list resource "events" in API group "" at the',
    );
  });

  it('has the same form for a kind that does not exist as for an existing kind', async () => {
    const { message, details } = await refusalOf('GET', '/apis/none.example.com/v1/things/x');
    expect(message).to.equal(
      'things.none.example.com "x" is forbidden: User "eve" cannot get resource "things" in API group "none.example.com" at the cluster scope',
    );
    expect(details).to.deep.equal({ name: 'x', group: 'none.example.com', kind: 'things' });
  });

  it('is for the path when the request is not for an object', async () => {
    for (const path of ['/export', '/metrics', '/debug/nothing', '/openapi/v3', '/apis', '/docs', '/nowhere'])
      expect((await refusalOf('GET', path)).message).to.equal(
        `access is forbidden: User "eve" cannot get path "${path}"`,
      );
    expect((await refusalOf('POST', '/export')).message).to.include('cannot post path "/export"');
  });

  it('is for the path of an endpoint, or for the resource that its route names', async () => {
    const base = '/apis/demo.example.com/v1';
    expect((await refusalOf('GET', `${base}/hello`)).message).to.include(`cannot get path "${base}/hello"`);
    expect((await refusalOf('GET', `${base}/h%65llo/`)).message).to.include(`cannot get path "${base}/hello"`);
    expect((await refusalOf('POST', `${base}/hello`)).message).to.include(`cannot post path "${base}/hello"`);
    for (const method of ['GET', 'HEAD']) await refusalOf(method, `${base}/persons/ada/greeting`);
    const { message } = await refusalOf('GET', `${base}/persons/ada/greeting`);
    expect(message).to.equal(
      `persons.people.example.com "ada" is forbidden: User "eve" cannot get resource "persons/greeting" ${cluster}`,
    );
    expect((await refusalOf('GET', `${base}/letters/a/b`)).message).to.include(
      'cannot open resource "letters" in API group "demo.example.com" in the namespace "a"',
    );
    expect((await server.get(`${base}/hello`)).text).to.equal('hello');
    // The role for discovery, which all authenticated users have, does not allow requests to endpoints.
    const known = { 'Impersonate-User': 'eve' };
    expect((await server.get('/apis/people.example.com/v1alpha1', known)).status).to.equal(200);
    expect((await server.get(`${base}/hello`, known)).status).to.equal(403);
    expect((await server.get(`${base}/persons/ada/greeting`, known)).status).to.equal(403);
  });

  it('is patch for a PATCH of an absent object', async () => {
    const { message } = await refusalOf('PATCH', `${persons}/new`);
    expect(message).to.include('cannot patch resource "persons"');
  });

  it('is checked for each route that may handle the request, before code of a plugin runs', async () => {
    const called: string[] = [];
    const owned = server.api.endpoints.forOwner('choosy');
    const choice = (name: string) =>
      predicate(() => {
        called.push(name);
        return false;
      });
    const respond = (): ServerResponse => ServerResponse.ok().text('hello');
    const permission = { verb: 'get', group: 'people.example.com', resource: 'persons' };
    owned.add(
      route('choosy.example.com/v1').GET('/x', choice('first'), respond, { permission }).GET('/x', respond).build(),
    );
    owned.open();
    const { message } = await refusalOf('GET', '/apis/choosy.example.com/v1/x');
    expect(message).to.include('cannot get resource "persons"');
    expect(called).to.deep.equal([]);
    expect((await server.get('/apis/choosy.example.com/v1/x')).text).to.equal('hello');
    expect(called).to.deep.equal(['first']);
    owned.close();
  });

  it('cannot be declared with an unknown variable of the path, an invalid verb or an invalid resource', () => {
    const routes = server.api.endpoints.forOwner('wrong');
    const wrong = (permission: { verb: string; resource: string; nameFrom?: string }) => () =>
      routes.add(
        route('wrong.example.com/v1')
          .GET('/a/:b', () => ServerResponse.noContent(), { permission })
          .build(),
      );
    expect(wrong({ verb: 'get', resource: 'a', nameFrom: 'c' })).to.throw(
      /permission.nameFrom of GET .*no variable "c"/,
    );
    expect(wrong({ verb: 'GET', resource: 'a' })).to.throw(/permission.verb .* lower case/);
    expect(wrong({ verb: 'get', resource: 'a/b/c' })).to.throw(/permission.resource .* must be <plural>/);
    routes.close();
  });
});

@RestController()
@ApiVersion('demo.example.com/v1')
class Letters {
  @GetMapping({
    path: '/letters/:box/:name',
    permission: { verb: 'open', resource: 'letters', nameFrom: 'name', namespaceFrom: 'box' },
  })
  open(): object {
    return person('ada');
  }
}
