import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { defineExtensionPoint } from '../index.ts';
import type { Contributions, Plugin, PluginContext, PluginExtensions } from '../index.ts';
import { PluginHost } from './plugin-host.ts';
import { pluginKind } from '../objects/plugin-kind.ts';
import { sourceNeeding } from '../package/plugin-source.fixture.ts';

interface Item {
  readonly label: string;
}

const items = defineExtensionPoint<Item>('menu/items');
const strictItems = defineExtensionPoint<Item>('menu/items', {
  schema: { type: 'object', required: ['label'], properties: { label: { type: 'string', minLength: 1 } } },
});

describe('the extension points of plugins', () => {
  let server: ApiServer;
  let host: PluginHost;
  let errors: string[];
  /** The contributions that the plugin `menu` received in its latest run. */
  let menu: Contributions<Item>;
  /** The arguments of all calls of the handler of the plugin `menu`. */
  let told: string[];

  beforeEach(async () => {
    errors = [];
    told = [];
    server = await startApiServer({ database: 'memory:', port: 0 });
    const nothing = (): void => undefined;
    const error = ({ plugin, err }: Readonly<Record<string, unknown>>, message: string): void =>
      void errors.push(`${String(plugin)}: ${message}${err instanceof Error ? ` (${err.message})` : ''}`);
    host = new PluginHost({ server, logger: { debug: nothing, info: nothing, warn: nothing, error } });
  });

  afterEach(async () => {
    await host.stop();
    await server.stop();
  });

  type Start = (context: PluginContext) => unknown;

  /**
   * Adds a plugin. `dependencies` are names of plugins; a name that ends in a question mark is an optional dependency.
   */
  function add(name: string, start: Start, dependencies: readonly string[] = ['menu']): void {
    host.add(sourceNeeding(name, { start } satisfies Plugin, dependencies));
  }

  const labelsOf = (list: ReturnType<typeof menu.list>): string =>
    list.map(({ plugin, value }) => `${plugin}:${value.label}`).join(' ');
  const labels = (): string => labelsOf(menu.list());

  function addMenu(point = items): void {
    const start: Start = ({ extensions }) => {
      menu = extensions.declare(point);
      menu.onChange((list) => void told.push(labelsOf(list)));
    };
    add('menu', start, []);
  }

  const offering =
    (...names: readonly string[]): Start =>
    ({ extensions }) => {
      for (const label of names) extensions.contribute(items, { label });
    };

  const phaseOf = (name: string): string | undefined => host.statuses().find((each) => each.name === name)?.phase;
  const reasonOf = (name: string): string | undefined => host.statuses().find((each) => each.name === name)?.reason;

  async function enable(name: string, enabled: boolean): Promise<void> {
    await server.client.patch(pluginKind('homeostat.internal'), name, { type: 'merge', patch: { spec: { enabled } } });
    await eventually(() => host.isIdle());
  }

  it('list contributions in the order of dependencies, and those of one plugin in the order of its calls', async () => {
    // Each plugin is added before its dependencies. Plugins without a dependency on each other start at the same time.
    add('last', offering('x'), ['menu', 'middle']);
    add('middle', offering('b', 'a'), ['first', 'menu']);
    add('first', offering('z'));
    addMenu();
    await host.start();
    expect(labels()).to.equal('first:z middle:b middle:a last:x');
    expect([menu.list(), menu.list()[0]].every((each) => Object.isFrozen(each))).to.equal(true);
    expect(menu.list()).to.equal(menu.list());
  });

  it('are listed with the names of the contributing plugins while the plugin that declares them runs', async () => {
    addMenu();
    add('shop', offering('a', 'b'));
    add('news', offering('c'));
    await host.start();
    expect(host.extensionPoints()).to.deep.equal([{ name: 'menu/items', contributions: ['shop', 'shop', 'news'] }]);
    await enable('shop', false);
    expect(host.extensionPoints()).to.deep.equal([{ name: 'menu/items', contributions: ['news'] }]);
    await enable('menu', false);
    expect(host.extensionPoints()).to.deep.equal([]);
  });

  it('accept contributions of the plugin that declares them', async () => {
    add(
      'menu',
      ({ extensions }) => {
        menu = extensions.declare(items);
        extensions.contribute(items, { label: 'own' });
      },
      [],
    );
    await host.start();
    expect(labels()).to.equal('menu:own');
  });

  it('show contributions once the contributing plugin is Started, and later contributions at once', async () => {
    let later: PluginExtensions | undefined;
    const seen: string[] = [];
    addMenu();
    add('shop', ({ extensions }) => {
      extensions.contribute(items, { label: 'a' });
      seen.push(labels());
      later = extensions;
    });
    await host.start();
    expect([seen, labels()]).to.deep.equal([[''], 'shop:a']);
    const takeBack = later?.contribute(items, { label: 'b' });
    expect(labels()).to.equal('shop:a shop:b');
    takeBack?.();
    takeBack?.();
    expect([labels(), told]).to.deep.equal(['shop:a', ['shop:a', 'shop:a shop:b', 'shop:a']]);
  });

  it('lose the contributions of a plugin when it stops, and have them again when it has restarted', async () => {
    addMenu();
    add('shop', offering('a'));
    add('news', offering('b'));
    await host.start();
    await enable('shop', false);
    expect(labels()).to.equal('news:b');
    await enable('shop', true);
    expect([labels(), told.at(-1)]).to.deep.equal(['shop:a news:b', 'shop:a news:b']);
  });

  it('never have contributions of a plugin that fails to start', async () => {
    addMenu();
    add('shop', (context) => {
      offering('a')(context);
      throw new Error('broken');
    });
    await host.start();
    expect([labels(), told, phaseOf('shop')]).to.deep.equal(['', [], 'Failed']);
  });

  it('are empty after the plugin that declares them has stopped, and have contributions again after this plugin has restarted', async () => {
    addMenu();
    add('shop', offering('a'));
    await host.start();
    const before = menu;
    await enable('menu', false);
    expect([before.list(), phaseOf('shop')]).to.deep.equal([[], 'Failed']);
    expect(() => before.onChange(() => undefined)).to.throw('the plugin is being stopped');
    await enable('menu', true);
    await eventually(() => phaseOf('shop') === 'Started');
    expect([labels(), before.list()]).to.deep.equal(['shop:a', []]);
  });

  describe('fail the plugin with an error that names the plugin and the extension point, for', () => {
    const contributor = 'plugin "shop" contributes to the extension point';
    const wrong: readonly (readonly [what: string, start: Start, reason: string, dependencies?: readonly string[]])[] =
      [
        [
          'a contribution to a point that no plugin declares',
          ({ extensions }) => extensions.contribute(defineExtensionPoint('menu/itmes'), 1),
          `${contributor} "menu/itmes", which the plugin "menu" does not declare`,
        ],
        [
          'a contribution to a point of a plugin that is not a dependency',
          offering('a'),
          `${contributor} "menu/items": the plugin "menu" is not among its dependencies`,
          [],
        ],
        [
          'a contribution to a point that the optional, running dependency does not declare',
          ({ extensions }) => extensions.contribute(defineExtensionPoint('menu/itmes'), 1),
          `${contributor} "menu/itmes", which the plugin "menu" does not declare`,
          ['menu?'],
        ],
        [
          'a contribution whose value breaks the schema',
          ({ extensions }) => extensions.contribute(items, { label: '' }),
          `${contributor} "menu/items": value.label: Invalid value`,
        ],
        [
          'a declaration with the name of another plugin',
          ({ extensions }) => extensions.declare(items),
          'the extension point "menu/items" belongs to the plugin "menu", and not to "shop"',
        ],
        [
          'a second declaration',
          ({ extensions }) => {
            extensions.declare(defineExtensionPoint('shop/a'));
            extensions.declare(defineExtensionPoint('shop/a'));
          },
          'the extension point "shop/a" is declared already',
        ],
        [
          'a declaration with an invalid schema',
          ({ extensions }) =>
            extensions.declare(defineExtensionPoint('shop/a', { schema: { type: 'object', properties: { b: {} } } })),
          'the schema of the extension point "shop/a": value.b: has no type',
        ],
        [
          'a contribution with a malformed name',
          ({ extensions }) => extensions.contribute({ name: 'items' }, 1),
          'the name "items" of an extension point must be <plugin>/<name>, such as menu/items',
        ],
      ];
    for (const [what, start, reason, dependencies = ['menu']] of wrong) {
      it(what, async () => {
        addMenu(strictItems);
        add('shop', start, dependencies);
        await host.start();
        expect(reasonOf('shop')).to.include(reason);
        expect([phaseOf('menu'), labels()]).to.deep.equal(['Started', '']);
      });
    }
  });

  it('accept values that are not JSON, such as functions, in fields without a schema', async () => {
    let called = 0;
    const point = defineExtensionPoint<Item & { run(): void }>('menu/items');
    addMenu(strictItems);
    add('shop', ({ extensions }) => extensions.contribute(point, { label: 'a', run: () => void (called += 1) }));
    await host.start();
    const [first] = menu.list() as ReturnType<Contributions<Item & { run(): void }>['list']>;
    first?.value.run();
    expect(called).to.equal(1);
  });

  it('can be declared by an optional dependency after other plugins have contributed to them', async () => {
    addMenu();
    add('shop', offering('a'), ['menu?']);
    await host.start();
    await enable('menu', false);
    expect(phaseOf('shop')).to.equal('Started');
    await enable('menu', true);
    expect(labels()).to.equal('shop:a');
  });

  it('drop contributions that do not fit the points of an optional dependency, with an error in the contributor’s log', async () => {
    addMenu(strictItems);
    add(
      'shop',
      ({ extensions }) => {
        for (const label of ['', 'b']) extensions.contribute(items, { label });
        extensions.contribute(defineExtensionPoint('menu/itmes'), 1);
      },
      ['menu?'],
    );
    const disabled = { metadata: { name: 'menu' }, spec: { enabled: false } };
    const kind = pluginKind('homeostat.internal');
    server.schemeManager.register(kind);
    await server.whenReady(kind);
    await server.client.create(kind, disabled);
    await host.start();
    expect([phaseOf('menu'), phaseOf('shop'), errors]).to.deep.equal(['Stopped', 'Started', []]);
    await enable('menu', true);
    expect(labels()).to.equal('shop:b');
    const place = 'shop: plugin "shop" contributes to the extension point';
    expect(errors[0]).to.include(`${place} "menu/items": value.label: Invalid value`);
    expect(errors[1]).to.equal(`${place} "menu/itmes", which the plugin "menu" does not declare`);
  });

  it('call every onChange handler, even when one throws or rejects; the log names the plugin of the failed handler', async () => {
    add(
      'menu',
      ({ extensions }) => {
        menu = extensions.declare(items);
        menu.onChange(() => {
          throw new Error('thrown');
        });
        menu.onChange(async () => {
          throw new Error('rejected');
        });
        const end = menu.onChange(() => void told.push('ended'));
        end();
        menu.onChange((list) => void told.push(labelsOf(list)));
      },
      [],
    );
    add('shop', offering('a'));
    await host.start();
    expect([told, phaseOf('shop')]).to.deep.equal([['shop:a'], 'Started']);
    await eventually(() => errors.length === 2);
    const message = 'menu: a plugin failed to handle the contributions of other plugins';
    expect(errors).to.deep.equal([`${message} (thrown)`, `${message} (rejected)`]);
  });

  it('call every handler with all contributions, even when a handler adds handlers during the calls', async () => {
    add(
      'menu',
      ({ extensions }) => {
        menu = extensions.declare(items);
        const listen = (): unknown => menu.onChange(listen);
        listen();
        menu.onChange((list) => void told.push(labelsOf(list)));
      },
      [],
    );
    add('shop', offering('a', 'b'));
    await host.start();
    expect(told.at(-1)).to.equal('shop:a shop:b');
  });

  it('throw errors when a stopped plugin uses them', async () => {
    let kept: PluginExtensions | undefined;
    addMenu();
    add('shop', ({ extensions }) => void (kept = extensions));
    await host.start();
    await enable('shop', false);
    expect(() => kept?.contribute(items, { label: 'a' })).to.throw('the plugin is being stopped');
    expect(() => kept?.declare(defineExtensionPoint('shop/a'))).to.throw('the plugin is being stopped');
    expect(labels()).to.equal('');
  });
});

describe('defineExtensionPoint', () => {
  it('returns a frozen point, and refuses a malformed name', () => {
    expect(Object.isFrozen(items)).to.equal(true);
    for (const name of ['items', 'menu/', '/items', 'Menu/items', 'menu/Items', 'menu/a/b', '', 7, undefined])
      expect(() => defineExtensionPoint(name as string), String(name)).to.throw(TypeError, 'must be <plugin>/<name>');
  });
});
