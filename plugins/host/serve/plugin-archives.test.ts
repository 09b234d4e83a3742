import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PluginHost } from '../host/plugin-host.ts';
import { npmTarball, pluginFiles } from '../install/tarball.fixture.ts';
import { makeFolder } from '../package/plugin-folder.fixture.ts';
import { servePluginArchives } from './plugin-archives.ts';

const token = 'correct-horse-battery-staple';
const path = '/apis/api.plugins.internal/v1/archives';

describe('plugin archives over HTTP', () => {
  let server: ApiServer;
  let host: PluginHost;
  let pluginsDir: string;

  beforeEach(async () => {
    pluginsDir = join(await makeFolder({}), 'plugins');
    await mkdir(pluginsDir);
    server = await startApiServer({ database: 'memory:', port: 0, token });
    host = new PluginHost({ server, pluginsDir });
    await host.start();
  });

  afterEach(async () => {
    await host.stop();
    await server.stop();
  });

  const serve = (options: object = {}): void =>
    servePluginArchives({ server, pluginsDir, isOpen: false, environment: process.env, ...options });

  async function ask(method: string, at: string, init: RequestInit = {}): Promise<{ status: number; body: object }> {
    const headers = { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string>) };
    const response = await fetch(`${server.url}${at}`, { method, ...init, headers });
    return { status: response.status, body: (await response.json()) as object };
  }

  const upload = async (files: Record<string, string>): Promise<{ status: number; body: object }> =>
    ask('POST', path, { body: new Uint8Array(npmTarball(files)), headers: { 'content-type': 'application/gzip' } });

  const phaseOf = (name: string): string | undefined => host.statuses().find((each) => each.name === name)?.phase;
  const left = async (): Promise<readonly string[]> =>
    (await readdir(pluginsDir)).filter((name) => name !== 'node_modules');

  it('are installed and started, replaced, and uninstalled', async () => {
    serve();
    expect(await ask('GET', path)).to.deep.equal({ status: 200, body: { problem: null, installed: [] } });
    const files = pluginFiles();
    expect(await upload(files)).to.deep.equal({ status: 201, body: { name: 'demo', version: '1.0.0' } });
    expect(await ask('GET', path))
      .to.have.nested.property('body.installed')
      .that.deep.equals(['demo']);
    await eventually(() => phaseOf('demo') === 'Started');
    const next = { ...files, 'plugin.yaml': 'name: demo\nversion: 2.0.0\n' };
    expect(await upload(next)).to.deep.equal({
      status: 201,
      body: { name: 'demo', version: '2.0.0', replaced: '1.0.0' },
    });
    await eventually(() => host.statuses().some(({ version, phase }) => version === '2.0.0' && phase === 'Started'));
    expect(await ask('DELETE', `${path}/demo`)).to.deep.equal({ status: 200, body: { name: 'demo' } });
    await eventually(() => phaseOf('demo') === undefined);
    expect(await left()).to.deep.equal([]);
  });

  it('are refused with the reason when they are broken, and leave no files behind', async () => {
    serve();
    const broken = await ask('POST', path, { body: 'no archive', headers: { 'content-type': 'application/gzip' } });
    expect(broken.status).to.equal(422);
    expect(broken.body)
      .to.have.property('message')
      .that.includes('the archive: cannot be unpacked')
      .and.does.not.include(pluginsDir);
    const unbuilt = await upload({ 'plugin.yaml': 'name: demo\nversion: 1.0.0\n' });
    expect(unbuilt.status).to.equal(422);
    expect((await ask('DELETE', `${path}/demo`)).status).to.equal(404);
    expect((await ask('DELETE', `${path}/..%2Fplugins`)).status).to.equal(404);
    expect(await left()).to.deep.equal([]);
  });

  it('are not installed or uninstalled without the permission for plugins/archive', async () => {
    serve();
    const eve = { 'impersonate-user': 'eve', 'impersonate-group': 'system:authenticated' };
    for (const [method, at] of [
      ['POST', path],
      ['DELETE', `${path}/demo`],
    ] as const) {
      const refused = await ask(method, at, { headers: eve });
      expect(refused.status).to.equal(403);
      expect(refused.body).to.have.property('message').that.includes('plugins/archive');
    }
  });

  for (const [options, cure] of [
    [{ pluginsDir: undefined }, 'start it with --plugins-dir'],
    [{ isOpen: true }, 'use homeostat plugin install'],
  ] as const) {
    it(`are refused when the server cannot install them, with the advice: ${cure}`, async () => {
      serve(options);
      expect((await ask('GET', path)).body)
        .to.have.property('problem')
        .that.includes(cure);
      const refused = await upload(pluginFiles());
      expect(refused.status).to.equal(403);
      expect(refused.body).to.have.property('message').that.includes(cure);
      expect(await left()).to.deep.equal([]);
    });
  }
});
