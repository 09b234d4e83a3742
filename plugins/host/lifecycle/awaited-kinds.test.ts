import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { reasonOf } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pluginHostOptions } from './awaited-kinds.ts';
import { makePlugin, removeFolders } from '../package/plugin-folder.fixture.ts';
import { PluginHost } from '../host/plugin-host.ts';
import { pluginKind } from '../objects/plugin-kind.ts';
import { pluginSource } from '../package/plugin-source.ts';
import type { PluginSource } from '../package/plugin-source.ts';
import { definePlugin } from '../sdk/plugin.ts';
import { widgetModel } from '../widget.fixture.ts';

const widgets = '/apis/widgets.example.com/v1/widgets';
const notYetServed = { status: 503, retryAfter: '1' } as const;
const gone = { status: 404, retryAfter: null } as const;

interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

function newGate(): Gate {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

describe('a request for a kind whose plugin does not run', () => {
  let folder: string;
  let server: ApiServer;
  let host: PluginHost | undefined;

  const Widget = widgetModel();
  const plugin = (): PluginSource => pluginSource('widgets', definePlugin({ models: [Widget] }));

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-'));
    await begin();
    await startWith(plugin());
    await server.client.create(Widget, { metadata: { name: 'one' } });
  });

  afterEach(async () => {
    await end();
    await rm(folder, { recursive: true, force: true });
  });

  async function begin(): Promise<void> {
    const database = `sqlite:${join(folder, 'test.db')}`;
    server = await startApiServer({ database, port: 0, ...pluginHostOptions(() => host) });
  }

  async function end(): Promise<void> {
    await host?.stop();
    host = undefined;
    await server.stop();
  }

  async function restart(): Promise<void> {
    await end();
    await begin();
  }

  async function startWith(...sources: readonly PluginSource[]): Promise<PluginHost> {
    host = new PluginHost({ server });
    for (const source of sources) host.add(source);
    await host.start();
    return host;
  }

  async function ask(path: string, method = 'GET'): Promise<{ status: number; retryAfter: string | null }> {
    const response = await fetch(`${server.url}${path}`, { method });
    await response.text();
    return { status: response.status, retryAfter: response.headers.get('retry-after') };
  }

  it('gets 503 with Retry-After before the plugin host starts; /readyz responds with 503, too', async () => {
    await restart();
    for (const path of [widgets, `${widgets}/one`, `${widgets}?watch=true`, `${widgets}/one/status`])
      expect(await ask(path), path).to.deep.equal(notYetServed);
    expect(await ask(`${widgets}/one`, 'DELETE')).to.deep.equal(notYetServed);
    expect((await ask('/readyz')).status).to.equal(503);
    expect(await ask('/apis/widgets.example.com/v1/gadgets')).to.deep.equal(gone);
    const error: unknown = await server.client.get(Widget, 'one').catch((reason: unknown) => reason);
    expect(reasonOf(error)).to.equal('ServiceUnavailable');
    await startWith(plugin());
    expect((await ask(`${widgets}/one`)).status).to.equal(200);
    expect((await ask('/readyz')).status).to.equal(200);
  });

  it('gets 503 while the plugin loads its module and while the plugin starts [slow]', async () => {
    await restart();
    const [loading, starting] = [newGate(), newGate()];
    const slow = {
      ...plugin(),
      load: async () => {
        await loading.opened;
        return definePlugin({
          start: async ({ schemeManager }) => {
            await starting.opened;
            schemeManager.register(Widget);
          },
        });
      },
    };
    const started = startWith(slow);
    for (const gate of [loading, starting]) {
      expect(await ask(`${widgets}/one`)).to.deep.equal(notYetServed);
      expect((await ask('/readyz')).status).to.equal(503);
      gate.open();
    }
    await started;
    expect((await ask(`${widgets}/one`)).status).to.equal(200);
  });

  it('gets 503 while the plugin is reloaded [slow]', async () => {
    const starting = newGate();
    const next = definePlugin({
      start: async ({ schemeManager }) => {
        await starting.opened;
        schemeManager.register(Widget);
      },
    });
    const reloaded = host?.reload(pluginSource('widgets', next));
    await eventually(async () => (await ask(`${widgets}/one`)).status !== 200);
    expect(await ask(`${widgets}/one`)).to.deep.equal(notYetServed);
    starting.open();
    await reloaded;
    expect((await ask(`${widgets}/one`)).status).to.equal(200);
  });

  it('gets 503 while the plugin is disabled, or Failed [slow]', async () => {
    const kind = pluginKind(server.schemeManager.serviceDomain);
    await server.client.patch(kind, 'widgets', { type: 'merge', patch: { spec: { enabled: false } } });
    await eventually(() => host?.isIdle() === true && host.statuses()[0]?.phase === 'Stopped');
    expect(await ask(`${widgets}/one`)).to.deep.equal(notYetServed);
    const response = await fetch(`${server.url}${widgets}/one`);
    expect(((await response.json()) as { readonly message: string }).message).to.equal(
      'widgets.widgets.example.com is not served at the moment: plugin "widgets" is disabled',
    );
    await server.client.patch(kind, 'widgets', { type: 'merge', patch: { spec: { enabled: true } } });
    await eventually(async () => (await ask(`${widgets}/one`)).status === 200);
    await restart();
    const broken = { ...plugin(), load: () => Promise.reject(new Error('it is broken')) };
    await startWith(broken);
    expect(await ask(`${widgets}/one`)).to.deep.equal(notYetServed);
  });

  it('gets 404 once the plugin is uninstalled, even while another plugin is Failed [slow]', async () => {
    await restart();
    const group = 'gadgets.example.com';
    const failed = { ...pluginSource('gadgets', {}), load: () => Promise.reject(new Error('it is broken')) };
    await startWith({ ...failed, manifest: { ...failed.manifest, group } });
    expect(await ask(`${widgets}/one`)).to.deep.equal(gone);
  });

  it('gets 404 once a version of the plugin without the kind has started [slow]', async () => {
    await host?.reload(pluginSource('widgets', definePlugin({ models: [widgetModel({ kind: 'Gadget' })] })));
    expect(await ask(`${widgets}/one`)).to.deep.equal(gone);
    expect((await ask('/apis/widgets.example.com/v1/gadgets')).status).to.equal(200);
  });
});

describe('homeostat serve [slow]', () => {
  const script = fileURLToPath(new URL('../../bin/homeostat.js', import.meta.url));

  afterEach(removeFolders);

  it('responds to /readyz with 503 from the first connection until its plugins have started', async () => {
    const folder = await makePlugin(
      'slow',
      `import { existsSync } from 'node:fs';
      while (!existsSync(new URL('./open', import.meta.url))) await new Promise((resolve) => setImmediate(resolve));
      export default {};`,
    );
    const port = await freePort();
    const args = ['serve', '--auth', 'open', '--port', String(port), '--database', 'memory:', '--plugin', folder];
    const child = spawn(process.execPath, [...process.execArgv, script, ...args], {
      env: { PATH: process.env['PATH'] },
      stdio: 'ignore',
    });
    const exited = new Promise((resolve) => child.once('close', resolve));
    const statuses: number[] = [];
    const ask = async (): Promise<void> => {
      const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
      await response?.text();
      if (response !== undefined) statuses.push(response.status);
    };
    while (statuses.length < 100) await ask();
    expect(new Set(statuses)).to.deep.equal(new Set([503]));
    await writeFile(join(folder, 'dist', 'open'), '');
    await eventually(async () => {
      await ask();
      return statuses.at(-1) === 200;
    });
    child.kill('SIGTERM');
    await exited;
  });
});

async function freePort(): Promise<number> {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as AddressInfo;
  await new Promise((resolve) => taken.close(resolve));
  return port;
}
