import { expect } from 'chai';
import { nextPhase } from './plugin-state.ts';
import type { PluginEvent, PluginPhase } from './plugin-state.ts';

const phases = ['Created', 'Resolved', 'Starting', 'Started', 'Stopping', 'Stopped', 'Failed'] as const;
const events = ['resolve', 'start', 'started', 'stop', 'stopped', 'fail'] as const;

const legal: readonly (readonly [PluginPhase, PluginEvent, PluginPhase])[] = [
  ['Created', 'resolve', 'Resolved'],
  ['Created', 'stop', 'Stopped'],
  ['Created', 'fail', 'Failed'],
  ['Resolved', 'start', 'Starting'],
  ['Resolved', 'stop', 'Stopped'],
  ['Resolved', 'fail', 'Failed'],
  ['Starting', 'started', 'Started'],
  ['Starting', 'stop', 'Stopping'],
  ['Starting', 'fail', 'Failed'],
  ['Started', 'stop', 'Stopping'],
  ['Started', 'fail', 'Failed'],
  ['Stopping', 'stopped', 'Stopped'],
  ['Stopping', 'fail', 'Failed'],
];

describe('the life cycle of a plugin', () => {
  for (const phase of phases) {
    for (const event of events) {
      const next = legal.find(([from, by]) => from === phase && by === event)?.[2];
      it(`in the phase ${phase}, the event "${event}" ${next === undefined ? 'throws' : `leads to ${next}`}`, () => {
        if (next === undefined) expect(() => nextPhase(phase, event)).to.throw(phase);
        else expect(nextPhase(phase, event)).to.equal(next);
      });
    }
  }
});
