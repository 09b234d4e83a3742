import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { silentLogger } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { PluginFleet } from './plugin-fleet.ts';
import { pluginSource } from './plugin-source.ts';
import type { Plugin } from './plugin.ts';
import { SettingsObjects } from './settings-objects.ts';

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
    const source = pluginSource(name, plugin);
    const needed = dependencies.map((each) => ({ name: each, range: '*', optional: false }));
    fleet.add({ ...source, manifest: { ...source.manifest, dependencies: needed } });
  }

  const phases = (): Readonly<Record<string, string>> =>
    Object.fromEntries(fleet.instances.map(({ manifest, state }) => [manifest.name, state.phase]));

  it('starts nothing that needs a plugin which waits to stop', async () => {
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

  it('has a plugin Stopped that is disabled, at whatever moment it fails for want of another', async () => {
    // One more turn of the microtask queue between the failure and the order, each time.
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
});
