import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { silentLogger } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { PluginFleet } from './plugin-fleet.ts';
import { sourceNeeding } from '../package/plugin-source.fixture.ts';
import { pluginSource } from '../package/plugin-source.ts';
import type { Plugin } from '../sdk/plugin.ts';
import { SettingsObjects } from '../settings/settings-objects.ts';

interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

function createGate(): Gate {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

describe('a fleet of plugins', () => {
  let server: ApiServer;
  let fleet: PluginFleet;

  beforeEach(async () => {
    server = await startApiServer({ database: 'memory:', port: 0 });
    fleet = newFleet();
  });

  afterEach(async () => {
    await fleet.stop();
    await server.stop();
  });

  function newFleet(): PluginFleet {
    const base = { server, clock: new FakeClock(), logger: silentLogger };
    const parts = { ...base, settings: new SettingsObjects({ ...base, onChange: () => undefined }) };
    return new PluginFleet({ parts, check: () => undefined, onChange: () => undefined });
  }

  function add(name: string, plugin: Plugin = {}, dependencies: readonly string[] = []): void {
    fleet.add(sourceNeeding(name, plugin, dependencies));
  }

  const phases = (): Readonly<Record<string, string>> =>
    Object.fromEntries(fleet.instances.map(({ manifest, state }) => [manifest.name, state.phase]));

  it('does not start a plugin while its dependency is disabled, even if the dependency runs until another plugin has stopped', async () => {
    const gate = createGate();
    add('base');
    add('slow', { stop: async () => gate.opened }, ['base']);
    add('other', {}, ['base']);
    await fleet.start([['other', { enabled: false }]]);
    const stopped = fleet.setWishes('base', { enabled: false });
    await eventually(() => phases()['slow'] === 'Stopping');
    expect(phases()['base']).to.equal('Started');
    await fleet.setWishes('other', { enabled: true });
    await eventually(() => fleet.get('other')?.isIdle() === true);
    gate.open();
    await stopped;
    await eventually(() => fleet.isIdle());
    expect(phases()).to.deep.equal({ base: 'Stopped', slow: 'Failed', other: 'Failed' });
    await fleet.setWishes('base', { enabled: true });
    await eventually(() => fleet.isIdle() && phases()['other'] === 'Started');
    expect(phases()).to.deep.equal({ base: 'Started', slow: 'Started', other: 'Started' });
  });

  it('does not stop a plugin that is disabled, but enabled again before its dependents have stopped', async () => {
    const gate = createGate();
    const started: string[] = [];
    add('base', { start: () => void started.push('base') });
    add('slow', { start: () => void started.push('slow'), stop: async () => gate.opened }, ['base']);
    await fleet.start([]);
    const disabled = fleet.setWishes('base', { enabled: false });
    await eventually(() => phases()['slow'] === 'Stopping');
    await fleet.setWishes('base', { enabled: true });
    gate.open();
    await disabled;
    await eventually(() => fleet.isIdle());
    expect(phases()).to.deep.equal({ base: 'Started', slow: 'Started' });
    expect(started).to.deep.equal(['base', 'slow', 'slow']);
  });

  it('stops, and does not fail, a plugin that is disabled at the moment when its dependency fails', async () => {
    // Each round waits one more microtask between the failure of `base` and the request to disable `other`.
    for (let turns = 0; turns < 60; turns += 1) {
      fleet = newFleet();
      const gate = createGate();
      const start = async (): Promise<never> => {
        await gate.opened;
        throw new Error('broken');
      };
      add('base', { start });
      add('other', {}, ['base']);
      const started = fleet.start([]);
      await eventually(() => phases()['base'] === 'Starting' && phases()['other'] === 'Resolved');
      gate.open();
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      await fleet.setWishes('other', { enabled: false });
      await started;
      expect(phases(), `after ${turns} turns`).to.deep.equal({ base: 'Failed', other: 'Stopped' });
      await fleet.stop();
    }
  });

  it('starts a plugin from its present files when a user reloads the plugin while it waits for its dependency', async () => {
    const gate = createGate();
    const started: string[] = [];
    const version = (name: string): Plugin => ({ start: () => void started.push(name) });
    add('base', { start: async () => gate.opened });
    const source = sourceNeeding('waits', version('before'), ['base']);
    fleet.add({ ...source, reopen: async () => ({ ...source, load: async () => version('after') }) });
    const allStarted = fleet.start([]);
    await eventually(() => phases()['waits'] === 'Resolved');
    await fleet.setWishes('waits', { enabled: true, reload: '1' });
    gate.open();
    await allStarted;
    await eventually(() => fleet.isIdle());
    expect(started).to.deep.equal(['after']);
  });

  it('does not start a plugin that is added after the fleet has stopped', async () => {
    const started: string[] = [];
    await fleet.stop();
    await fleet.adopt(pluginSource('late', { start: () => void started.push('late') }), { enabled: true });
    await eventually(() => fleet.isIdle());
    expect(started).to.deep.equal([]);
  });

  describe('replace', () => {
    const events: string[] = [];

    function noting(name: string, version: string): Plugin {
      return {
        start: () => void events.push(`start ${name} ${version}`),
        stop: () => void events.push(`stop ${name} ${version}`),
      };
    }

    beforeEach(() => events.splice(0));

    it('stops a plugin and its dependents, starts the new version, and starts the dependents again', async () => {
      add('base', noting('base', '1'));
      add('user', noting('user', '1'), ['base']);
      add('other', noting('other', '1'));
      await fleet.start([]);
      events.splice(0);
      await fleet.replace(pluginSource('base', noting('base', '2')));
      await eventually(() => fleet.isIdle());
      expect(events).to.deep.equal(['stop user 1', 'stop base 1', 'start base 2', 'start user 1']);
      expect(phases()).to.deep.equal({ base: 'Started', user: 'Started', other: 'Started' });
    });

    it('starts the dependents of a failed plugin once a new version replaces it', async () => {
      const failing: Plugin = {
        start: () => {
          throw new Error('no');
        },
      };
      add('base', failing);
      add('user', noting('user', '1'), ['base']);
      await fleet.start([]);
      expect(phases()).to.deep.equal({ base: 'Failed', user: 'Failed' });
      await fleet.replace(pluginSource('base', noting('base', '2')));
      await eventually(() => phases()['user'] === 'Started');
      expect(events).to.deep.equal(['start base 2', 'start user 1']);
    });

    it('starts the new version of a disabled plugin only when the plugin is enabled', async () => {
      add('base', noting('base', '1'));
      await fleet.start([['base', { enabled: false }]]);
      await fleet.replace(pluginSource('base', noting('base', '2')));
      expect(events).to.deep.equal([]);
      await fleet.setWishes('base', { enabled: true });
      await eventually(() => phases()['base'] === 'Started');
      expect(events).to.deep.equal(['start base 2']);
    });

    it('starts only the new version when a user enables the plugin during the replacement', async () => {
      const gate = createGate();
      add('base', { ...noting('base', '1'), stop: async () => gate.opened });
      await fleet.start([]);
      const disabled = fleet.setWishes('base', { enabled: false });
      const replaced = fleet.replace(pluginSource('base', noting('base', '2')));
      const enabled = fleet.setWishes('base', { enabled: true });
      gate.open();
      await Promise.all([disabled, replaced, enabled]);
      await eventually(() => fleet.isIdle());
      expect(phases()).to.deep.equal({ base: 'Started' });
      expect(events.filter((event) => event === 'start base 2')).to.have.length(1);
      expect(events.at(-1)).to.equal('start base 2');
    });

    it('does not start the new version once the fleet is being stopped', async () => {
      add('base', noting('base', '1'));
      await fleet.start([]);
      const stopped = fleet.stop();
      await fleet.replace(pluginSource('base', noting('base', '2')));
      await stopped;
      expect(events).to.deep.equal(['start base 1', 'stop base 1']);
    });
  });
});
