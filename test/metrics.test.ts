import { request as httpRequest } from 'node:http';
import { createClient, createManager, controller } from '@homeostat/controller-runtime';
import { eventually } from '@homeostat/controller-runtime/testing';
import { Metrics } from '@homeostat/controller-runtime/telemetry';
import { definePlugin } from 'homeostat';
import { startTestServer } from 'homeostat/testing';
import type { TestServer as HostedServer } from 'homeostat/testing';
import { expect } from 'chai';
import { gadget, gadgetsV1 } from './support/models/gadget-versions.ts';
import { Person, person, persons } from './support/models/models.ts';
import { TestServer } from './support/servers/test-server.ts';

const token = 'x'.repeat(20);

/** Returns the value of a series in the text; undefined when the text does not have the series. */
function valueIn(text: string, series: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length));
}

describe('GET /metrics', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  after(() => server.stop());

  const valueOf = async (series: string): Promise<number | undefined> =>
    valueIn((await server.get('/metrics')).text, series);

  const requests = async (verb: string, code: number, subresource = ''): Promise<number> => {
    const kind = `group="people.example.com",resource="persons",subresource="${subresource}"`;
    return (await valueOf(`apiserver_request_total{verb="${verb}",${kind},code="${code}"}`)) ?? 0;
  };

  it('is a text in the format of Prometheus, in which each line is a comment or a sample', async () => {
    const { status, headers, text } = await server.get('/metrics');
    expect(status).to.equal(200);
    expect(headers['content-type']).to.equal('text/plain; version=0.0.4; charset=utf-8');
    for (const line of text.trimEnd().split('\n')) {
      expect(line).to.match(/^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"]*",?)+\})? (\d[\d.e+-]*|\+Inf))$/);
    }
    expect((await server.get('/')).body.paths).to.include('/metrics');
  });

  it('has the series of kinds, watchers, commits and the process before any client has written or watched', async () => {
    expect(await valueOf('apiserver_storage_objects{resource="letters.people.example.com"}')).to.equal(0);
    expect(await valueOf('apiserver_storage_objects{resource="namespaces"}')).to.equal(1);
    expect(await valueOf('apiserver_registered_watchers{resource="letters.people.example.com"}')).to.equal(0);
    expect(await valueOf('apiserver_current_inflight_requests{request_kind="mutating"}')).to.equal(0);
    expect(await valueOf('apiserver_current_inflight_requests{request_kind="readOnly"}')).to.equal(1);
    expect(await valueOf('homeostat_store_commits_total{result="failed"}')).to.equal(0);
    for (const name of ['process_cpu_seconds_total', 'process_start_time_seconds', 'process_resident_memory_bytes']) {
      expect(await valueOf(name), name).to.be.above(0);
    }
    expect(await valueOf('nodejs_eventloop_lag_mean_seconds')).to.be.at.least(0);
  });

  it('counts requests by verb, kind and code, with their durations', async () => {
    const commits = (await valueOf('homeostat_store_commits_total{result="committed"}')) ?? 0;
    await server.post(persons, person('ann'));
    await server.post(persons, person('ann'));
    await server.post(persons, person('bob', { age: -1 }));
    await server.get(`${persons}/ann`);
    await server.get(`${persons}/nobody`);
    await server.get(persons);
    await server.patch(`${persons}/ann`, { status: { greeting: 'hi' } });
    await server.patch(`${persons}/ann/status`, { status: { greeting: 'ho' } });
    const type = 'application/apply-patch+yaml';
    await server.patch(`${persons}/zoe?fieldManager=me`, person('zoe'), { type });
    await server.delete(`${persons}/ann`);
    await server.delete(persons);
    const counted = [
      await requests('POST', 201),
      await requests('POST', 409),
      await requests('POST', 422),
      await requests('GET', 200),
      await requests('GET', 404),
      await requests('LIST', 200),
      await requests('PATCH', 200),
      await requests('PATCH', 200, 'status'),
      await requests('APPLY', 201),
      await requests('DELETE', 200),
      await requests('DELETECOLLECTION', 200),
    ];
    expect(counted).to.deep.equal(counted.map(() => 1));
    const posts = 'verb="POST",group="people.example.com",resource="persons",subresource=""';
    expect(await valueOf(`apiserver_request_duration_seconds_count{${posts}}`)).to.equal(3);
    expect(await valueOf('homeostat_store_commits_total{result="committed"}')).to.equal(commits + 6);
    expect(await valueOf('homeostat_store_commit_duration_seconds_count')).to.equal(commits + 6);
    expect(await valueOf('apiserver_storage_objects{resource="persons.people.example.com"}')).to.equal(0);
  });

  it('counts the open watches by kind', async () => {
    const series = 'apiserver_registered_watchers{resource="persons.people.example.com"}';
    const watch = await server.watch(`${persons}?watch=true`);
    expect(await valueOf(series)).to.equal(1);
    expect(await requests('WATCH', 200)).to.equal(1);
    expect(await valueOf('apiserver_current_inflight_requests{request_kind="readOnly"}')).to.equal(1);
    watch.close();
    await eventually(async () => (await valueOf(series)) === 0);
  });

  it('counts a watch of an older version of a kind in the series of the kind', async () => {
    server.api.schemeManager.register(gadget);
    await server.api.whenReady(gadget);
    const watch = await server.watch(`${gadgetsV1}?watch=true`);
    expect(await valueOf('apiserver_registered_watchers{resource="gadgets.shop.example.com"}')).to.equal(1);
    watch.close();
  });

  it('has no series for the names, paths, methods and media types that clients invent [slow]', async () => {
    const seriesOf = async (): Promise<number> => (await server.get('/metrics')).text.split('\n').length;
    const made = async (from: number): Promise<void> => {
      for (let index = from; index < from + 20; index += 1) {
        await server.get(`/nowhere/${index}`);
        await server.get(`/apis/group-${index}.example.com/v1/things`);
        await server.get(`${persons}/p${index}/part-${index}`);
        await server.get(`${persons}/p${index}?q=${index}`);
        await server.request('PROPFIND', `${persons}/p${index}`);
        await server.post(persons, '{', { type: `text/x-${index}; charset=latin1` });
        await server.patch(`${persons}/p${index}`, '{', { type: 'application/apply-patch+yaml; charset=latin1' });
      }
    };
    await made(0);
    const lines = await seriesOf();
    await made(20);
    expect(await seriesOf()).to.equal(lines);
    expect((await server.get('/metrics')).text).not.to.match(/nowhere|group-1|part-1|PROPFIND/);
  });

  it('refuses other methods than GET and HEAD with 405', async () => {
    for (const method of ['POST', 'PUT', 'DELETE']) {
      expect((await server.request(method, '/metrics')).status).to.equal(405);
    }
    expect((await server.request('HEAD', '/metrics')).status).to.equal(200);
    expect((await server.get('/metrics/')).status).to.equal(200);
    expect((await server.get('/metrics/x')).status).to.equal(404);
  });
});

describe('/metrics of a server with a token', () => {
  let server: HostedServer;

  before(async () => {
    const plugin = definePlugin({ models: [Person], controllers: [controller(Person, { reconcile() {} })] });
    server = await startTestServer({ token, plugins: [plugin] });
  });

  after(() => server.stop());

  it('requires the token, and refuses an unknown Host with 403', async () => {
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${server.url}/metrics`)).status).to.equal(401);
    expect((await fetch(`${server.url}/metrics`, { headers })).status).to.equal(200);
    const status = await new Promise((resolve, reject) => {
      const call = httpRequest(`${server.url}/metrics`, { headers: { ...headers, host: 'evil.example.com' } });
      call.on('error', reject);
      call.on('response', (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      call.end();
    });
    expect(status).to.equal(403);
  });

  it('has series of the controllers of plugins, each with the name of its plugin', async () => {
    await server.client.create(Person, { metadata: { name: 'ann' }, spec: { name: 'Ann' } });
    await server.settle();
    const text = await (await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text();
    const total = 'controller_runtime_reconcile_total{controller="person",result="success",plugin="plugin-1"}';
    expect(valueIn(text, total)).to.equal(1);
    expect(valueIn(text, 'workqueue_adds_total{name="person",controller="person",plugin="plugin-1"}')).to.equal(1);
  });
});

describe('metrics of a separate program', () => {
  it('count the requests of the program to the server, by method and code', async () => {
    const server = await TestServer.start();
    const metrics = new Metrics();
    const client = createClient(server.api.url, { metrics });
    const { host } = new URL(server.api.url);
    await client.create(Person, { metadata: { name: 'ann' }, spec: { name: 'Ann' } });
    await client.get(Person, 'nobody').catch(() => undefined);
    await server.stop();
    await client.get(Person, 'ann').catch(() => undefined);
    const manager = createManager({ client, metrics });
    const series = (code: string, method: string): string =>
      `rest_client_requests_total{code="${code}",method="${method}",host="${host}"}`;
    expect(valueIn(manager.metrics(), series('201', 'POST'))).to.equal(1);
    expect(valueIn(manager.metrics(), series('404', 'GET'))).to.equal(1);
    expect(valueIn(manager.metrics(), series('<error>', 'GET'))).to.equal(1);
  });
});
