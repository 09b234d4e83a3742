import { expect } from 'chai';
import { silentLogger } from '../../api/index.ts';
import type { ApiObject } from '../../api/index.ts';
import { FakeClock } from '../../testing/fakes/fake-clock.ts';
import { FakeClient } from '../fake-client.test-support.ts';
import { Person } from '../harness.test-support.ts';
import type { ReportedRun } from './run-object.ts';
import { RunWriter, type RunWeight } from './run-writer.ts';

describe('the records of runs', () => {
  let clock: FakeClock;
  let client: FakeClient;
  let writer: RunWriter;
  let counter: { unrecorded: number };
  let made: number;

  beforeEach(() => {
    [clock, client, made] = [new FakeClock(), new FakeClient(), 0];
    counter = { unrecorded: 0 };
    writer = new RunWriter({ client, clock, logger: silentLogger, isSecret: (_object: ApiObject) => false });
  });

  afterEach(async () => {
    await writer.close();
    expect(clock.pendingTimers).to.equal(0);
  });

  /** Offers runs to the writer as a controller does, and returns the number of accepted runs. */
  function offer(count: number, weight: RunWeight): number {
    let accepted = 0;
    for (let i = 0; i < count; i += 1) {
      if (!writer.accepts(weight)) counter.unrecorded += 1;
      else {
        writer.add(run(weight), weight);
        accepted += 1;
      }
    }
    return accepted;
  }

  function run(weight: RunWeight): ReportedRun {
    made += 1;
    const reconcileID = `${weight}-${made}`;
    const ended = { key: 'ada', reconcileID, reasons: [], attempts: 0, durationMs: 1, result: 'success' } as const;
    const record = { ...ended, startTime: clock.now() };
    const nothing = { error: undefined, object: undefined, writes: undefined, nextTime: undefined };
    return { controller: 'test/person', model: Person, record, waitMs: 0, ...nothing, counter };
  }

  /**
   * Advances the clock by a second. For each run that the writer recorded in this second, returns its importance, a
   * {@link RunWeight}.
   */
  async function recorded(): Promise<readonly string[]> {
    client.requests.length = 0;
    await clock.advance(1000);
    for (let turn = 0; turn < 600; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return client.requests.map((line) => line.slice('create runs/'.length, line.indexOf('-')));
  }

  it('records are written once a second: up to 200 at the start, then 25 a second; further runs are only counted', async () => {
    expect(offer(500, 'plain')).to.equal(200);
    expect(await recorded()).to.have.length(200);
    // The first of these records contains the number of the runs that were only counted (300), so the counter is 0
    // again.
    expect(counter.unrecorded).to.equal(0);
    expect(offer(100, 'plain')).to.equal(25);
    expect(counter.unrecorded).to.equal(75);
    expect(await recorded()).to.have.length(25);
  });

  it('above 100 runs a second, records are written only for failed and requested runs, and for five others a second', async () => {
    offer(200, 'plain');
    await recorded();
    for (let second = 0; second < 10; second += 1) {
      offer(300, 'plain');
      offer(300, 'notable');
      expect(await recorded()).to.deep.equal(Array<string>(5).fill('notable'));
    }
    offer(300, 'notable');
    offer(3, 'asked');
    offer(10, 'failed');
    const weights = { failed: 10, asked: 3, notable: 5 };
    expect(await recorded()).to.deep.equal(
      Object.entries(weights).flatMap(([weight, n]) => Array<string>(n).fill(weight)),
    );
    offer(300, 'failed');
    expect(await recorded()).to.have.length(25);
  });

  it('when there are too many runs, those of weight `failed` are recorded first, then `notable` ones, then `plain` ones', async () => {
    offer(200, 'plain');
    await recorded();
    expect(offer(20, 'plain')).to.equal(20);
    expect(offer(20, 'notable')).to.equal(20);
    expect(offer(10, 'failed')).to.equal(10);
    expect(await recorded()).to.deep.equal([...Array<string>(10).fill('failed'), ...Array<string>(15).fill('notable')]);
  });

  it('after a minute without runs, the writer accepts up to 200 runs at once, as at its start', async () => {
    offer(200, 'plain');
    await recorded();
    await clock.advance(60_000);
    offer(1, 'plain');
    await recorded();
    expect(offer(500, 'failed')).to.equal(200);
  });

  it('records whose writes fail are lost, but later records are written', async () => {
    client.intercept = () => {
      throw new Error('no connection');
    };
    offer(500, 'failed');
    expect(await recorded()).to.have.length(200);
    client.intercept = () => {};
    offer(500, 'failed');
    expect(await recorded()).to.have.length(25);
  });
});
