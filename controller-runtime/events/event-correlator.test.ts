import { expect } from 'chai';
import { FakeClock } from '../testing/fakes/fake-clock.ts';
import { EventCorrelator, type CorrelatedEvent, type Occurrence } from './event-correlator.ts';

const object = { apiVersion: 'people.example.com/v1', kind: 'Person', name: 'ann', uid: 'u1', resourceVersion: '7' };

describe('EventCorrelator', () => {
  let clock: FakeClock;
  let correlator: EventCorrelator;
  let uuids: number;

  beforeEach(() => {
    clock = new FakeClock();
    uuids = 0;
    const uuid = (): string => `${String((uuids += 1)).padStart(8, '0')}-0000-4000-8000-000000000000`;
    correlator = new EventCorrelator({ clock, uuid });
  });

  const happens = (parts: Partial<Occurrence> = {}): CorrelatedEvent | undefined =>
    correlator.correlate({ object, type: 'Normal', reason: 'Greeted', message: 'hello', ...parts });

  it('increases the count of identical events, and keeps the name and the time of the first one', async () => {
    const first = happens();
    await clock.advance(90_000);
    const second = happens();
    expect(first).to.include({ name: 'ann.0000000100004000', count: 1, firstTime: Date.UTC(2030, 0, 1) });
    expect(second).to.include({ name: first?.name, count: 2, firstTime: first?.firstTime, lastTime: clock.now() });
  });

  it('distinguishes events that differ in object, type, reason or message', () => {
    const other = { ...object, uid: 'u2' };
    const events = [happens(), happens({ object: other }), happens({ type: 'Warning' }), happens({ reason: 'Left' })];
    events.push(happens({ message: 'bye' }));
    expect(new Set(events.map((event) => event?.name)).size).to.equal(5);
    expect(events.map((event) => event?.count)).to.deep.equal([1, 1, 1, 1, 1]);
  });

  it('combines events that differ only in their message, starting with the tenth within ten minutes', async () => {
    const events: (CorrelatedEvent | undefined)[] = [];
    for (let index = 1; index <= 12; index += 1) events.push(happens({ message: `try ${index}` }));
    expect(events[8]).to.include({ message: 'try 9', count: 1 });
    expect(events[9]).to.include({ message: '(combined from similar events): try 10', count: 1 });
    expect(events[11]).to.include({
      message: '(combined from similar events): try 12',
      count: 3,
      name: events[9]?.name,
    });
    await clock.advance(600_001);
    expect(happens({ message: 'try 13' })).to.include({ message: 'try 13', count: 1 });
  });

  it('allows 25 events of an object at once and one more every five minutes, and counts dropped events', async () => {
    const through = Array.from({ length: 30 }, () => happens()).filter((event) => event !== undefined);
    expect(through).to.have.length(25);
    expect(happens({ object: { ...object, name: 'bob', uid: 'u2' } })).to.include({ count: 1 });
    await clock.advance(299_999);
    expect(happens()).to.equal(undefined);
    await clock.advance(1);
    expect(happens()).to.include({ count: 32 });
    expect(happens()).to.equal(undefined);
  });

  it('makes valid names of events even for objects with the longest names', () => {
    const name = `${'a'.repeat(235)}.${'b'.repeat(17)}`;
    const event = happens({ object: { ...object, name } });
    expect(event?.name).to.have.length.at.most(253);
    expect(event?.name).to.match(/^a{235}\.\d{16}$/);
  });

  it('remembers the counts of at most 4,096 events, and forgets the count of the event that occurred longest ago', () => {
    happens();
    for (let index = 0; index < 4096; index += 1)
      happens({ object: { ...object, name: `p${index}`, uid: `p${index}` } });
    expect(happens()).to.include({ count: 1 });
  });
});
