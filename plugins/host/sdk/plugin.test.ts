import { expect } from 'chai';
import { BasePlugin, checkPlugin, definePlugin } from './plugin.ts';

describe('definePlugin', () => {
  it('returns a frozen plugin', () => {
    const plugin = definePlugin({ models: [], start: () => undefined });
    expect(Object.isFrozen(plugin)).to.equal(true);
    expect(checkPlugin(plugin)).to.equal(plugin);
  });

  it('throws an error that names every wrong field', () => {
    expect(() => definePlugin({ models: 7, begin: () => undefined, stop: 'x' } as never))
      .to.throw(TypeError)
      .with.property('message')
      .that.includes('"models" must be a list')
      .and.includes('"begin" is unknown; the fields are models, controllers, endpoints, admission, start, stop')
      .and.includes('"stop" must be a function');
  });
});

describe('the default export of a plugin', () => {
  it('may be a class that extends BasePlugin', () => {
    class Mine extends BasePlugin {}
    expect(checkPlugin(Mine)).to.equal(Mine);
  });

  it('is refused when it is a class that does not extend BasePlugin, or a value such as undefined or a string', () => {
    class Stranger {}
    expect(() => checkPlugin(Stranger)).to.throw('the class Stranger must extend BasePlugin');
    for (const value of [undefined, null, 'plugin', 7]) expect(() => checkPlugin(value)).to.throw('a plugin is');
  });
});
