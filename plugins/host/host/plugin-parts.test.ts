import { expect } from 'chai';
import { makePlugin, removeFolders } from '../package/plugin-folder.fixture.ts';
import { pluginKind } from '../objects/plugin-kind.ts';
import { settingsKind } from '../settings/settings-kind.ts';
import { eventually, startTestServer } from '../testing/index.ts';
import type { TestServer } from '../testing/index.ts';

// The plugins of this test are outside of the repository, so they import the package by its URL. A real plugin imports
// it by its name.
const homeostat = new URL('../index.js', import.meta.url).href;

const menuManifest = `
name: menu
version: 1.2.0
settings:
  type: object
  properties:
    title: { type: string, default: Menu }
`;

/**
 * The main file of the plugin `menu`. The plugin serves a page that lists what other plugins contribute, and emits an
 * event each time the page is requested.
 */
const menuMain = `
import { BasePlugin, defineEvent, defineExtensionPoint, route, ServerResponse } from '${homeostat}';

const items = defineExtensionPoint('menu/items', {
  schema: { type: 'object', required: ['label'], properties: { label: { type: 'string' } } },
});
export const shown = defineEvent('menu/shown');

export default class MenuPlugin extends BasePlugin {
  async start() {
    const contributions = this.extensions.declare(items);
    const page = () => {
      const lines = contributions.list().map(({ plugin, value }) => plugin + ': ' + value.label);
      this.events.emit(shown, { count: lines.length });
      return ServerResponse.ok().text([this.settings.get().title, ...lines].join('\\n'));
    };
    this.endpoints.add(route('api.menu.example.com/v1').GET('/page', page).build());
  }
}
`;

const shopManifest = `
name: shop
version: 1.0.0
dependencies: { menu: ^1.0.0 }
`;

/**
 * The main file of a plugin that contributes a line to the menu, and has an endpoint that returns how often the menu
 * was shown.
 */
const shopMain = `
import { defineEvent, defineExtensionPoint, definePlugin, route, ServerResponse } from '${homeostat}';

let shown = 0;

export default definePlugin({
  endpoints: [route('api.shop.example.com/v1').GET('/shown', () => ServerResponse.ok().json({ shown })).build()],
  start({ extensions, events }) {
    extensions.contribute(defineExtensionPoint('menu/items'), { label: 'The shop' });
    events.on(defineEvent('menu/shown'), ({ count }) => {
      shown += count;
    });
  },
});
`;

describe('two plugins in folders', () => {
  let server: TestServer;

  before(async () => {
    const menu = await makePlugin('menu', menuMain, {
      'plugin.yaml': menuManifest,
      'resources/static/menu.css': 'nav {}',
    });
    const shop = await makePlugin('shop', shopMain, { 'plugin.yaml': shopManifest });
    server = await startTestServer({ plugins: [shop, menu] });
  });

  after(async () => {
    await server.stop();
    await removeFolders();
  });

  const textOf = async (path: string): Promise<string> => (await fetch(`${server.url}${path}`)).text();
  const page = async (): Promise<string> => textOf('/apis/api.menu.example.com/v1/page');

  async function enable(name: string, enabled: boolean, phase: string): Promise<void> {
    const plugins = pluginKind('homeostat.internal');
    await server.client.patch(plugins, name, { type: 'merge', patch: { spec: { enabled } } });
    await eventually(() => server.plugins().find((each) => each.name === name)?.phase === phase);
  }

  it('use settings, an extension point, an event and static files together while they run', async () => {
    expect(await page()).to.equal('Menu\nshop: The shop');
    expect(await textOf('/apis/api.shop.example.com/v1/shown')).to.equal('{"shown":1}');
    expect(await textOf('/plugins/menu/assets/menu.css')).to.equal('nav {}');
    await enable('shop', false, 'Stopped');
    expect(await page()).to.equal('Menu');
    await enable('shop', true, 'Started');
    expect(await page()).to.equal('Menu\nshop: The shop');
  });

  it('use settings that a client creates over HTTP', async () => {
    const kind = settingsKind('homeostat.internal', () => []);
    await server.httpClient.create(kind, { metadata: { name: 'menu' }, spec: { title: 'Today' } });
    await server.settle();
    expect(await page()).to.match(/^Today\n/);
    const wrong = server.httpClient.patch(kind, 'menu', { type: 'merge', patch: { spec: { title: 7 } } });
    const error: unknown = await wrong.catch((reason: unknown) => reason);
    expect(String(error)).to.include('spec.title');
    expect(await page()).to.match(/^Today\n/);
  });
});
