import { silentLogger } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { PluginObjectWriter } from './plugin-object-writer.ts';
import type { PluginReport } from './plugin-report.ts';
import type { PluginPhase } from '../lifecycle/plugin-state.ts';

const report = (phase: PluginPhase, message = ''): PluginReport => ({
  wishes: { enabled: true },
  phase,
  message,
  indexing: [],
  contested: [],
  atMs: 0,
});

describe('the writer of a plugin’s object', () => {
  let clock: FakeClock;
  let closing: AbortController;
  let written: string[];
  let failures: number;
  let writer: PluginObjectWriter;

  beforeEach(() => {
    clock = new FakeClock();
    closing = new AbortController();
    written = [];
    failures = 0;
    const write = async ({ phase, message }: PluginReport): Promise<void> => {
      if (failures > 0) {
        failures -= 1;
        throw new Error('not now');
      }
      written.push(`${phase} ${message}`.trim());
    };
    writer = new PluginObjectWriter({ name: 'a', clock, logger: silentLogger, write, closing: closing.signal });
  });

  afterEach(() => expect(clock.pendingTimers).to.equal(0));

  it('writes reports in order; a new report replaces the last waiting report if both have the same phase', async () => {
    for (const [phase, message] of [
      ['Created', ''],
      ['Starting', '1'],
      ['Starting', '2'],
      ['Starting', '3'],
      ['Started', ''],
    ] as const)
      writer.push(report(phase, message));
    expect(writer.isIdle()).to.equal(true);
    writer.open();
    expect(writer.isIdle()).to.equal(false);
    await writer.drained();
    expect(written).to.deep.equal(['Created', 'Starting 3', 'Started']);
  });

  it('writes the last report again at a refresh, unless a newer report waits to be written', async () => {
    writer.open();
    writer.refresh();
    writer.push(report('Started'));
    await writer.drained();
    writer.refresh();
    writer.push(report('Stopping'));
    writer.refresh();
    await writer.drained();
    expect(written).to.deep.equal(['Started', 'Started', 'Stopping']);
  });

  it('repeats failed writes after 0.5 s, 1 s and so on, and skips no phase', async () => {
    failures = 2;
    writer.open();
    writer.push(report('Created'));
    writer.push(report('Started'));
    await clock.advance(1_499);
    expect(written).to.deep.equal([]);
    await clock.advance(1);
    await writer.drained();
    expect(written).to.deep.equal(['Created', 'Started']);
  });

  it('keeps the newest eight reports while it cannot write, and drops older ones', async () => {
    const phases: readonly PluginPhase[] = ['Created', 'Stopped'];
    for (let number = 0; number < 21; number += 1) writer.push(report(phases[number % 2] ?? 'Failed', `${number}`));
    writer.open();
    await writer.drained();
    expect(written.map((line) => line.split(' ')[1])).to.deep.equal(['13', '14', '15', '16', '17', '18', '19', '20']);
  });

  it('retries a failed write once when the host stops, and drops the report of the plugin’s state if the retry fails', async () => {
    failures = Number.POSITIVE_INFINITY;
    writer.open();
    writer.push(report('Stopped'));
    await eventually(() => clock.pendingTimers === 1);
    closing.abort();
    await writer.drained();
    expect(written).to.deep.equal([]);
  });
});
