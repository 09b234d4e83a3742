import { expect } from 'chai';
import { fileURLToPath } from 'node:url';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';

const folder = fileURLToPath(new URL('..', import.meta.url));
const consoleFolder = fileURLToPath(new URL('../../../plugins/console', import.meta.url));

describe('example 11: what a plugin adds to the console', () => {
  let server: TestServer;

  afterEach(() => server.stop());

  it('the console lists the contributions of the plugin, and the server serves their modules', async () => {
    server = await startTestServer({ plugins: [folder, consoleFolder] });
    const listed = await fetch(`${server.url}/apis/api.console.internal/v1/contributions`);
    const { items } = (await listed.json()) as { items: readonly { point: string; plugin: string; module?: string }[] };
    expect(items.map(({ point, plugin, module }) => `${point} ${plugin} ${module}`)).to.deep.equal([
      'pages task board.js',
      'panels task progress.js',
      'columns task undefined',
      'actions task finish.js',
    ]);
    for (const { plugin, module } of items.filter((each) => each.module !== undefined)) {
      const { status, headers } = await fetch(`${server.url}/plugins/${plugin}/assets/${module}`);
      expect([status, headers.get('content-type')]).to.deep.equal([200, 'text/javascript; charset=utf-8']);
    }
  });

  it('the plugin runs without the console', async () => {
    server = await startTestServer({ plugins: [folder] });
    expect(server.plugins()).to.have.nested.property('[0].phase', 'Started');
  });
});
