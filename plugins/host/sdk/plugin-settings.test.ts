import { serviceOwner, startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { apiVersionOf, isInvalid } from '@homeostat/controller-runtime/api';
import type { FieldCause } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { definePlugin } from '../index.ts';
import type { PluginContext, PluginSettings } from '../index.ts';
import { makePlugin, removeFolders } from '../package/plugin-folder.fixture.ts';
import { PluginHost } from '../host/plugin-host.ts';
import { pluginKind } from '../objects/plugin-kind.ts';
import { pluginSource } from '../package/plugin-source.ts';
import { settingsKind } from '../settings/settings-kind.ts';
import type { SettingsObject } from '../settings/settings-kind.ts';

const kind = settingsKind('homeostat.internal', () => []);

const mailSettings = {
  type: 'object',
  required: ['host'],
  properties: {
    host: { type: 'string', minLength: 1 },
    port: { type: 'integer', minimum: 1, maximum: 65_535, default: 25 },
    tls: { type: 'object', default: {}, properties: { verify: { type: 'boolean', default: true } } },
  },
};

interface MailSettings {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly verify: boolean };
}

describe('the settings of a plugin', () => {
  let server: ApiServer;
  let host: PluginHost;
  let ownKinds: ReturnType<ApiServer['schemeManager']['list']>;
  let lines: { readonly level: string; readonly fields: Readonly<Record<string, unknown>>; readonly message: string }[];
  let given: PluginSettings<MailSettings>[];

  const log =
    (level: string) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void =>
      void lines.push({ level, fields, message });

  const newHost = (): PluginHost => {
    const logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
    return new PluginHost({ server, logger });
  };

  beforeEach(async () => {
    lines = [];
    given = [];
    server = await startApiServer({ database: 'memory:', port: 0 });
    ownKinds = server.schemeManager.list();
    host = newHost();
  });

  afterEach(async () => {
    await host.stop();
    await server.stop();
    await removeFolders();
    expect(server.schemeManager.list(), 'kinds left behind').to.deep.equal(ownKinds);
  });

  type Start = (context: PluginContext<MailSettings>) => unknown;

  /** Adds a plugin that appends its settings interface to `given` at each start. */
  function add(name: string, settings: object | null = mailSettings, start: Start = () => undefined): void {
    const plugin = definePlugin<MailSettings>({
      start: (context) => {
        given.push(context.settings);
        return start(context);
      },
    });
    const source = pluginSource(name, plugin);
    host.add({ ...source, manifest: { ...source.manifest, ...(settings === null ? {} : { settings }) } });
  }

  const idle = async (): Promise<unknown> =>
    eventually(() => host.isIdle(), { describe: () => JSON.stringify(host.statuses()) });

  async function started(): Promise<void> {
    await host.start();
    await idle();
  }

  const phaseOf = (name: string): string | undefined => host.statuses().find((each) => each.name === name)?.phase;
  const reasonOf = (name: string): string | undefined => host.statuses().find((each) => each.name === name)?.reason;
  const values = (): MailSettings | undefined => given.at(-1)?.get();
  const errors = (): readonly string[] => lines.flatMap(({ level, message }) => (level === 'error' ? [message] : []));

  /** Stores settings that the plugin's schema may not allow, as a server with another version of the plugin could. */
  async function store(name: string, spec: SettingsObject['spec']): Promise<void> {
    const lenient = newHost();
    await lenient.start();
    await server.client.create(kind, { metadata: { name }, spec });
    await lenient.stop();
  }

  const set = async (name: string, spec: SettingsObject['spec']): Promise<unknown> =>
    server.client.create(kind, { metadata: { name }, spec });
  const change = async (name: string, spec: object): Promise<void> => {
    await server.client.patch(kind, name, { type: 'merge', patch: { spec } });
    await idle();
  };

  it('are available in the start of the plugin, with the defaults of its manifest, and deeply frozen', async () => {
    await store('mail', { host: 'smtp.example.com' });
    const seen: MailSettings[] = [];
    add('mail', mailSettings, ({ settings }) => void seen.push(settings.get()));
    await started();
    expect(seen).to.deep.equal([{ host: 'smtp.example.com', port: 25, tls: { verify: true } }]);
    expect([seen[0], seen[0]?.tls].every((each) => Object.isFrozen(each))).to.equal(true);
  });

  it('are only the defaults when no settings are stored, and empty when the manifest has no schema', async () => {
    add('mail', { type: 'object', properties: { port: { type: 'integer', default: 25 } } });
    add('plain', null);
    await started();
    expect(given.map((settings) => settings.get())).to.have.deep.members([{ port: 25 }, {}]);
  });

  it('are stored without the defaults', async () => {
    add('mail');
    await started();
    await set('mail', { host: 'a' });
    expect((await server.client.get(kind, 'mail')).spec).to.deep.equal({ host: 'a' });
  });

  describe('with a mistake', () => {
    async function causesOf(name: string, spec: unknown): Promise<readonly FieldCause[]> {
      const path = '/apis/plugin.homeostat.internal/v1alpha1/pluginsettings';
      const response = await fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name }, spec }),
      });
      expect(response.status).to.equal(422);
      const { details } = (await response.json()) as { readonly details: { readonly causes: readonly FieldCause[] } };
      return details.causes;
    }

    const wrong: readonly (readonly [what: string, spec: unknown, fields: readonly string[]])[] = [
      ['a value of the wrong type', { host: 7 }, ['spec.host']],
      ['several values beyond a bound', { host: '', port: 0 }, ['spec.host', 'spec.port']],
      ['a required field that is missing', {}, ['spec.host']],
      ['a field that the schema does not have', { host: 'a', prot: 1 }, ['spec.prot']],
      ['a wrong value in a nested field', { host: 'a', tls: { verify: 'yes' } }, ['spec.tls.verify']],
    ];
    for (const [what, spec, fields] of wrong) {
      it(`are refused with 422 and the path of each wrong field: ${what}`, async () => {
        add('mail');
        await host.start();
        expect((await causesOf('mail', spec)).map(({ field }) => field)).to.have.members([...fields]);
      });
    }

    it('are refused with 422 when the manifest of the plugin declares no settings', async () => {
      add('plain', null);
      await host.start();
      const [cause] = await causesOf('plain', { a: 1 });
      expect(cause).to.include({ field: 'spec', message: 'Forbidden: the plugin "plain" has no settings' });
    });

    it('are refused for a wrong value, even while the plugin is disabled', async () => {
      add('mail');
      await started();
      await set('mail', { host: 'a' });
      await server.client.patch(pluginKind('homeostat.internal'), 'mail', {
        type: 'merge',
        patch: { spec: { enabled: false } },
      });
      await eventually(() => phaseOf('mail') === 'Stopped');
      const refused: unknown = await change('mail', { port: 0 }).catch((error: unknown) => error);
      expect(isInvalid(refused)).to.equal(true);
    });
  });

  it('may be stored before the plugin exists', async () => {
    await host.start();
    await set('later', { anything: true });
  });

  it('that break the schema fail only their plugin, until a user corrects them; the reason names every wrong field', async () => {
    await store('mail', { host: '', port: 0 });
    add('mail');
    add('other', null);
    await started();
    expect([phaseOf('mail'), phaseOf('other')]).to.deep.equal(['Failed', 'Started']);
    expect(reasonOf('mail')).to.match(/^PluginSettings "mail" breaks the schema: spec\.host: .+; spec\.port: /);
    const { status } = await server.client.get(pluginKind('homeostat.internal'), 'mail');
    expect(status).to.include({ phase: 'Failed', reason: 'SettingsInvalid' });
    expect(errors(), 'is tried once').to.deep.equal(['plugin failed']);
    await change('mail', { host: 'a', port: 7 });
    await eventually(() => phaseOf('mail') === 'Started');
    expect(values()).to.deep.equal({ host: 'a', port: 7, tls: { verify: true } });
  });

  it('fail the plugin when a required field is missing, until a user sets the field', async () => {
    add('mail');
    await started();
    expect(reasonOf('mail')).to.equal('PluginSettings "mail" breaks the schema: spec.host: Required value');
    await set('mail', { host: 'a' });
    await eventually(() => phaseOf('mail') === 'Started');
  });

  it('accept new labels while their stored values break the schema', async () => {
    await store('mail', { host: '' });
    add('mail');
    await started();
    await server.client.patch(kind, 'mail', {
      type: 'merge',
      patch: { metadata: { labels: { 'example.com/a': 'b' } } },
    });
    await idle();
    expect(phaseOf('mail')).to.equal('Failed');
  });

  it('do not contain stored fields that a newer schema does not have; the log has a warning', async () => {
    await store('mail', { host: 'a', timeout: 7 });
    add('mail');
    await started();
    expect(values()).to.deep.equal({ host: 'a', port: 25, tls: { verify: true } });
    const warning = lines.find(({ level, fields }) => level === 'warn' && fields['plugin'] === 'mail');
    expect(warning?.fields['fields']).to.deep.equal(['spec.timeout']);
  });

  describe('that change', () => {
    let heard: MailSettings[];

    const listening: Start = ({ settings }) => {
      heard = [];
      settings.onChange((next) => void heard.push(next));
    };

    beforeEach(async () => {
      await store('mail', { host: 'a' });
    });

    it("call the plugin's handler once for each update that changes a value, and not for other updates", async () => {
      add('mail', mailSettings, listening);
      await started();
      await change('mail', { port: 26 });
      // This patch changes no value of the settings: it adds a label, and stores `verify: true`, which is the default.
      await server.client.patch(kind, 'mail', {
        type: 'merge',
        patch: { metadata: { labels: { 'example.com/a': 'b' } }, spec: { tls: { verify: true } } },
      });
      await idle();
      await change('mail', { host: 'b' });
      expect(heard.map(({ host: name, port }) => `${name}:${port}`)).to.deep.equal(['a:26', 'b:26']);
      expect(heard.every((each) => Object.isFrozen(each) && Object.isFrozen(each.tls))).to.equal(true);
      expect(values()).to.equal(heard[1]);
    });

    it("call the plugin's handler even during the start of the plugin", async () => {
      add('mail', mailSettings, async (context) => {
        listening(context);
        await server.client.patch(kind, 'mail', { type: 'merge', patch: { spec: { port: 26 } } });
        await eventually(() => context.settings.get().port === 26);
      });
      await started();
      expect([phaseOf('mail'), heard.length]).to.deep.equal(['Started', 1]);
    });

    it('are replaced by the defaults when a user deletes their object, but stay in use if the defaults break the schema', async () => {
      add('mail', { ...mailSettings, required: [] }, listening);
      await started();
      await server.client.delete(kind, 'mail');
      await idle();
      expect(heard).to.deep.equal([{ port: 25, tls: { verify: true } }]);
      await host.stop();
      await store('mail', { host: 'a' });
      host = newHost();
      add('mail', mailSettings, listening);
      await started();
      await server.client.delete(kind, 'mail');
      await idle();
      expect([heard, values()?.host, phaseOf('mail')]).to.deep.equal([[], 'a', 'Started']);
      expect(errors()).to.deep.equal(['new settings break the schema; the plugin keeps its settings']);
    });

    it('call the other handlers when one throws or rejects; the log names the plugin', async () => {
      add('mail', mailSettings, (context) => {
        context.settings.onChange(() => {
          throw new Error('thrown');
        });
        context.settings.onChange(async () => {
          throw new Error('rejected');
        });
        listening(context);
      });
      await started();
      await change('mail', { port: 26 });
      expect(heard).to.have.length(1);
      const failures = lines.filter(({ message }) => message === 'a plugin failed to handle its new settings');
      expect(failures.map(({ fields }) => [fields['plugin'], String(fields['err'])])).to.deep.equal([
        ['mail', 'Error: thrown'],
        ['mail', 'Error: rejected'],
      ]);
    });

    it('do not call a handler that was removed, or whose plugin has stopped', async () => {
      add('mail', mailSettings, ({ settings }) => {
        heard = [];
        const end = settings.onChange((next) => void heard.push(next));
        end();
      });
      await started();
      const [first] = given;
      await change('mail', { port: 26 });
      const plugins = pluginKind('homeostat.internal');
      await server.client.patch(plugins, 'mail', { type: 'merge', patch: { spec: { enabled: false } } });
      await eventually(() => phaseOf('mail') === 'Stopped');
      await change('mail', { port: 27 });
      expect([heard, first?.get().port]).to.deep.equal([[], 26]);
      expect(() => first?.onChange(() => undefined)).to.throw('the plugin is being stopped');
      await server.client.patch(plugins, 'mail', { type: 'merge', patch: { spec: { enabled: true } } });
      await eventually(() => phaseOf('mail') === 'Started');
      expect(values()?.port).to.equal(27);
    });
  });

  it('have a schema that is checked together with the manifest', async () => {
    const manifest = (schema: string): string => `name: mail\nversion: 1.0.0\nsettings: ${schema}\n`;
    const wrong: readonly (readonly [schema: string, reason: string])[] = [
      ['{type: string}', 'settings: must be the JSON Schema of an object'],
      ['[]', 'settings: must be the JSON Schema of an object'],
      ['{type: object, properties: {port: {}}}', 'settings: settings.port: has no type'],
      ['{type: object, properties: {port: {type: integer, maximun: 7}}}', '"maximun" is not a keyword Homeostat knows'],
    ];
    for (const [schema, reason] of wrong) {
      const folder = await makePlugin('mail', 'export default {};', { 'plugin.yaml': manifest(schema) });
      const own = new PluginHost({ server });
      await own.addFolder(folder);
      expect(own.statuses()[0]?.reason, schema).to.include(reason);
      await own.stop();
    }
  });

  it('are objects of a kind that the server itself owns, not the plugin [slow]', async () => {
    await host.start();
    const registration = server.schemeManager.lookup(kind);
    expect(registration?.owner).to.equal(serviceOwner);
  });
});
