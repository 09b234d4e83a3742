import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { definePlugin } from 'homeostat';
import type { PluginDefinition } from 'homeostat';
import { eventually, startTestServer } from 'homeostat/testing';
import type { TestServer, TestServerOptions } from 'homeostat/testing';
import { letter } from './support/models/models.ts';
import { WatchReader } from './support/network/watch-reader.ts';

const plugins = '/apis/plugin.homeostat.internal/v1alpha1/plugins';
const letters = '/apis/people.example.com/v1alpha1/letters';

describe('plugins as objects, over HTTP', () => {
  let server: TestServer;
  let folder: string;
  const watches: WatchReader[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-plugins-'));
  });

  afterEach(async () => {
    for (const each of watches.splice(0)) each.close();
    await server.stop();
    await rm(folder, { recursive: true });
  });

  async function start(definition: PluginDefinition, options: TestServerOptions = {}): Promise<void> {
    const database = `sqlite:${join(folder, 'h.db')}`;
    server = await startTestServer({ plugins: [definePlugin(definition)], database, ...options });
    await server.settle();
  }

  const call = async (method: string, path: string, body?: object): Promise<Response> =>
    fetch(server.url + path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    });

  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of a response
  const json = async (path: string): Promise<any> => (await call('GET', path)).json();

  async function setEnabled(enabled: boolean): Promise<void> {
    const object = await json(`${plugins}/plugin-1`);
    const answer = await call('PUT', `${plugins}/plugin-1`, { ...object, spec: { ...object.spec, enabled } });
    expect(answer.status).to.equal(200);
    await server.settle();
  }

  async function watch(path: string): Promise<WatchReader> {
    const reader = await WatchReader.open({ port: Number(new URL(server.url).port) }, path);
    watches.push(reader);
    return reader;
  }

  const phasesOf = (reader: WatchReader): readonly string[] =>
    reader.events.map(({ type, object }) => `${type} ${object.status?.phase}`);

  it('send watchers each phase of a stop and of the next start as an event, in order [slow]', async () => {
    await start({ models: [letter] });
    const { resourceVersion } = (await json(`${plugins}/plugin-1`)).metadata;
    await server.stop();
    await start({ models: [letter] });
    const seen = await watch(`${plugins}?watch=true&resourceVersion=${resourceVersion}`);
    await eventually(() => expect(phasesOf(seen).at(-1)).to.equal('MODIFIED Started'));
    const phases = phasesOf(seen).filter((phase, position, all) => phase !== all[position - 1]);
    expect(phases).to.deep.equal(
      ['Stopping', 'Stopped', 'Created', 'Resolved', 'Starting', 'Started'].map((phase) => `MODIFIED ${phase}`),
    );
  });

  it('stop serving their kinds and end the watches when spec.enabled becomes false, and serve them again when it becomes true', async () => {
    await start({ models: [letter] });
    const one = { apiVersion: 'people.example.com/v1alpha1', kind: 'Letter', metadata: { name: 'one' } };
    const path = letters.replace('letters', 'namespaces/default/letters');
    expect((await call('POST', path, { ...one, spec: { text: 'a' } })).status).to.equal(201);
    const seen = await watch(`${letters}?watch=true`);
    await setEnabled(false);
    expect((await seen.end()).at(-1)).to.have.nested.property('object.code', 410);
    // The kind responds with 503, not with 404, because its plugin is only disabled and its objects still exist.
    expect((await call('GET', `${path}/one`)).status).to.equal(503);
    expect((await json(`${plugins}/plugin-1`)).status).to.include({ phase: 'Stopped', reason: 'Disabled' });
    await setEnabled(true);
    expect((await call('GET', `${path}/one`)).status).to.equal(200);
    expect((await json(`${plugins}/plugin-1`)).status.phase).to.equal('Started');
  });

  it('stay disabled after a restart: the start function of a disabled plugin is not called [slow]', async () => {
    await start({});
    await setEnabled(false);
    await server.stop();
    const calls: string[] = [];
    await start({ start: () => void calls.push('start') });
    expect(calls).to.deep.equal([]);
    expect(server.plugins()).to.deep.equal([{ name: 'plugin-1', version: '0.0.0', phase: 'Stopped' }]);
    await setEnabled(true);
    expect(calls).to.deep.equal(['start']);
  });

  it('can be selected by phase, version and spec.enabled', async () => {
    await start({});
    for (const [selector, total] of [
      ['status.phase=Started', 1],
      ['status.phase!=Started', 0],
      ['spec.enabled=true', 1],
      ['spec.version=0.0.0', 1],
    ] as const) {
      const found = await json(`${plugins}?fieldSelector=${encodeURIComponent(selector)}`);
      expect(found.total, selector).to.equal(total);
    }
  });

  it('are in an API group of the configured service domain', async () => {
    await start({}, { serviceDomain: 'svc.example.org' });
    expect((await json('/apis/plugin.svc.example.org/v1alpha1/plugins')).total).to.equal(1);
  });

  it('refuse a value of spec.enabled that is not a boolean, with the name of the field', async () => {
    await start({});
    const object = await json(`${plugins}/plugin-1`);
    const answer = await call('PUT', `${plugins}/plugin-1`, { ...object, spec: { enabled: 'no' } });
    expect(answer.status).to.equal(422);
    // oxlint-disable-next-line typescript/no-explicit-any -- JSON of a response
    const { details } = (await answer.json()) as any;
    expect(details.causes[0]).to.include({ field: 'spec.enabled' });
  });
});
