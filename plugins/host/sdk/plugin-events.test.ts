import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { defineEvent } from '../index.ts';
import type { PluginContext, PluginEvents } from '../index.ts';
import { PluginHost } from '../host/plugin-host.ts';
import { pluginKind } from '../objects/plugin-kind.ts';
import { pluginSource } from '../package/plugin-source.ts';

const ordered = defineEvent<{ readonly id: number }>('shop/ordered');

describe('the events of plugins', () => {
  let server: ApiServer;
  let host: PluginHost;
  let failures: string[];
  let warnings: string[];
  let heard: string[];
  let shop: PluginEvents;

  beforeEach(async () => {
    failures = [];
    warnings = [];
    heard = [];
    server = await startApiServer({ database: 'memory:', port: 0 });
    const nothing = (): void => undefined;
    const warn = ({ plugin, event }: Readonly<Record<string, unknown>>, message: string): void =>
      void warnings.push(`${String(plugin)}: ${message}: ${String(event)}`);
    const error = ({ plugin, event, err }: Readonly<Record<string, unknown>>, message: string): void =>
      void failures.push(`${String(plugin)}: ${message}: ${String(event)}: ${String(err)}`);
    host = new PluginHost({ server, logger: { debug: nothing, info: nothing, warn, error } });
    add('shop', ({ events }) => void (shop = events));
  });

  afterEach(async () => {
    await host.stop();
    await server.stop();
  });

  function add(name: string, start: (context: PluginContext) => unknown): void {
    host.add(pluginSource(name, { start }));
  }

  async function enable(name: string, enabled: boolean): Promise<void> {
    await server.client.patch(pluginKind('homeostat.internal'), name, { type: 'merge', patch: { spec: { enabled } } });
    await eventually(() => host.isIdle());
  }

  it('are delivered to the listeners of all plugins before emit returns, in the order of registration', async () => {
    const listeners: Record<string, PluginEvents> = {};
    for (const name of ['a', 'b']) add(name, ({ events }) => void (listeners[name] = events));
    await host.start();
    for (const [index, name] of ['b', 'a', 'b', 'shop'].entries()) {
      const events = name === 'shop' ? shop : listeners[name];
      events?.on(ordered, ({ id }) => void heard.push(`${name}${index} ${id}`));
    }
    shop.emit(ordered, { id: 7 });
    expect(heard).to.deep.equal(['b0 7', 'a1 7', 'b2 7', 'shop3 7']);
    shop.emit(defineEvent<number>('shop/closed'), 1);
    expect(heard).to.have.length(4);
  });

  it('are the same event when two plugins define events with the same name', async () => {
    add('mail', ({ events }) =>
      events.on(defineEvent<{ id: number }>('shop/ordered'), ({ id }) => heard.push(`${id}`)),
    );
    await host.start();
    shop.emit(ordered, { id: 1 });
    expect(heard).to.deep.equal(['1']);
  });

  it('reach the other listeners when one throws or rejects; the log names the plugin of the failed listener', async () => {
    add('bad', ({ events }) => {
      events.on(ordered, () => {
        throw new Error('thrown');
      });
      events.on(ordered, async () => {
        throw new Error('rejected');
      });
    });
    await host.start();
    shop.on(ordered, ({ id }) => void heard.push(String(id)));
    shop.emit(ordered, { id: 1 });
    expect(heard).to.deep.equal(['1']);
    await eventually(() => failures.length === 2);
    const message = 'bad: a listener of a plugin failed: shop/ordered: Error:';
    expect(failures).to.have.members([`${message} thrown`, `${message} rejected`]);
  });

  it('are delivered to a listener until it is removed or its plugin stops', async () => {
    add('mail', ({ events }) => void events.on(ordered, ({ id }) => void heard.push(`mail ${id}`)));
    await host.start();
    const end = shop.on(ordered, ({ id }) => void heard.push(`shop ${id}`));
    shop.emit(ordered, { id: 1 });
    await enable('mail', false);
    end();
    end();
    shop.emit(ordered, { id: 2 });
    await enable('mail', true);
    shop.emit(ordered, { id: 3 });
    expect(heard).to.deep.equal(['mail 1', 'shop 1', 'mail 3']);
  });

  it('are not delivered to the listeners of a plugin whose start fails', async () => {
    add('mail', ({ events }) => {
      events.on(ordered, () => void heard.push('mail'));
      throw new Error('broken');
    });
    await host.start();
    shop.emit(ordered, { id: 1 });
    expect(heard).to.deep.equal([]);
  });

  it('do not reach listeners that are added or removed during the emission', async () => {
    await host.start();
    let endSecond = (): void => undefined;
    shop.on(ordered, ({ id }) => {
      heard.push(`first ${id}`);
      endSecond();
      if (id === 1) shop.on(ordered, (next) => void heard.push(`new ${next.id}`));
    });
    endSecond = shop.on(ordered, () => void heard.push('second'));
    shop.emit(ordered, { id: 1 });
    shop.emit(ordered, { id: 2 });
    expect(heard).to.deep.equal(['first 1', 'first 2', 'new 2']);
  });

  it('are ignored with a warning when a stopped plugin emits them; events.on throws for a stopped plugin', async () => {
    add('mail', ({ events }) => void events.on(ordered, () => void heard.push('mail')));
    await host.start();
    await enable('shop', false);
    expect(() => shop.emit(ordered, { id: 1 })).not.to.throw();
    expect(heard).to.deep.equal([]);
    expect(warnings).to.deep.equal(['shop: ignored an event that a stopped plugin emitted: shop/ordered']);
    expect(() => shop.on(ordered, () => undefined)).to.throw('the plugin is being stopped');
  });
});

describe('defineEvent', () => {
  it('returns a frozen event, and refuses a malformed name', () => {
    expect(Object.isFrozen(ordered)).to.equal(true);
    for (const name of ['ordered', 'Shop/ordered', 'shop/', 'a/b/c'])
      expect(() => defineEvent(name), name).to.throw(TypeError, 'of an event must be <plugin>/<name>');
  });
});
