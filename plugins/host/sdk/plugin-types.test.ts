import { expect } from 'chai';
import { BasePlugin, defineEvent, defineExtensionPoint, definePlugin } from '../index.ts';
import type { Contribution, Plugin, PluginContext, SettingsValues } from '../index.ts';
import { checkPlugin } from './plugin.ts';

// The compiler runs these tests: a type that is not exactly the expected one does not compile.
type Equal<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;

function isExactly<A, B>(answer: Equal<A, B>): boolean {
  return answer;
}

interface MailSettings {
  readonly host: string;
  readonly port?: number;
}

interface Item {
  readonly label: string;
}

const items = defineExtensionPoint<Item>('menu/items');
const ordered = defineEvent<{ readonly id: number }>('shop/ordered');

describe("the types of a plugin's interfaces", () => {
  it('the type of settings is the type argument of BasePlugin or definePlugin; without an argument, it is SettingsValues', () => {
    class Mail extends BasePlugin<MailSettings> {
      override async start(): Promise<void> {
        isExactly<ReturnType<typeof this.settings.get>, MailSettings>(true);
        this.settings.onChange((next) => isExactly<typeof next, MailSettings>(true));
      }
    }
    const mail = definePlugin<MailSettings>({
      start: ({ settings }) => isExactly<ReturnType<typeof settings.get>, MailSettings>(true),
    });
    const plain = definePlugin({
      start: ({ settings }) => isExactly<ReturnType<typeof settings.get>, SettingsValues>(true),
    });
    const plugins: readonly Plugin[] = [Mail, mail, plain];
    expect(plugins.map(checkPlugin)).to.deep.equal(plugins);
  });

  it('contributions and payloads have the type of their extension point or event, and other types do not compile', () => {
    const start = ({ extensions, events }: PluginContext): void => {
      const contributions = extensions.declare(items);
      isExactly<ReturnType<typeof contributions.list>, readonly Contribution<Item>[]>(true);
      contributions.onChange((list) => isExactly<typeof list, readonly Contribution<Item>[]>(true));
      extensions.contribute(items, { label: 'a' });
      // @ts-expect-error -- a label is a text
      extensions.contribute(items, { label: 7 });
      // @ts-expect-error -- an item has no field `colour`
      extensions.contribute(items, { label: 'a', colour: 'red' });
      events.on(ordered, (payload) => isExactly<typeof payload, { readonly id: number }>(true));
      events.emit(ordered, { id: 7 });
      // @ts-expect-error -- an id is a number
      events.emit(ordered, { id: 'seven' });
      // @ts-expect-error -- the payload of the event is not a string
      events.on(ordered, (payload: string) => payload);
    };
    expect(checkPlugin(definePlugin({ start }))).to.have.property('start', start);
  });
});
