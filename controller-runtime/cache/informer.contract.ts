import { expect } from 'chai';
import { keyOf } from '../api/index.ts';
import { caseLabel, ContractSubject } from '../client/contract-subject.fixture.ts';
import type { OpenClient } from '../client/contract-subject.fixture.ts';
import type { Person } from '../client/example-person.fixture.ts';
import type { HandlerRegistration } from '../client/informer.ts';
import { eventually } from '../testing/eventually.ts';
import { FollowedCase, HandlerRecord } from './followed-case.fixture.ts';
import { describeIndexes } from './informer-indexes.contract.ts';
import { describeOptions } from './informer-options.contract.ts';
import { describeRuns } from './informer-runs.contract.ts';

/** The tests that every Informer has to pass, wherever its cache is. One server serves the whole suite. */
export function describeInformerContract(name: string, open: OpenClient): void {
  describe(`${name} as an Informer`, () => {
    const followed = new FollowedCase(new ContractSubject(open));
    beforeEach('follow', () => followed.begin());
    afterEach('stop', () => followed.stop());
    describeCache(followed);
    describeHandlers(followed);
    describeIndexes(followed);
    describeOptions(followed);
    describeRuns(followed);
  });
}

function describeCache(followed: FollowedCase): void {
  describe('its cache', () => {
    it('the cache is empty before the informer runs', () => {
      expect(followed.informer.hasSynced()).to.equal(false);
      expect(followed.informer.list()).to.deep.equal([]);
      expect(followed.informer.get({ name: 'a' })).to.equal(undefined);
    });

    it('the cache contains the existing objects, and follows changes', async () => {
      const [a] = await followed.one.createAll('a', 'b');
      await followed.run();
      const { informer } = followed;
      expect(informer.list().map(({ spec }) => spec.name)).to.have.members(['a', 'b']);
      expect(informer.get(keyOf(a as Person))).to.deep.equal(a);
      const changed = await followed.patch('a', { spec: { age: 7 } });
      await eventually(() => informer.get(keyOf(changed))?.spec.age === 7);
      await followed.delete('b');
      await eventually(() => informer.list().length === 1);
      expect(Number(informer.resourceVersion)).to.be.at.least(Number(changed.metadata.resourceVersion));
    });

    it('the cache contains frozen objects', async () => {
      const a = await followed.one.create('a');
      await followed.run();
      const cached = followed.informer.get(keyOf(a)) as Person;
      expect(() => Object.assign(cached.spec, { age: 1 })).to.throw(TypeError);
    });

    it('the cache contains a change before the handlers receive the change', async () => {
      const ages: (number | undefined)[] = [];
      const { informer } = followed;
      informer.addHandler({
        onAdd: (object) => void ages.push(informer.get(keyOf(object))?.spec.age),
        onUpdate: (_previous, object) => void ages.push(informer.get(keyOf(object))?.spec.age),
      });
      await followed.run();
      await followed.one.create('a', { age: 1 });
      await eventually(() => ages.length === 1);
      await followed.patch('a', { spec: { age: 2 } });
      await eventually(() => ages.length === 2);
      expect(ages).to.deep.equal([1, 2]);
    });
  });
}

function describeHandlers(followed: FollowedCase): void {
  describe('its handlers', () => {
    it('a handler receives the existing objects first, marked as initial, and is synced after that', async () => {
      await followed.one.createAll('a', 'b');
      const record = new HandlerRecord();
      const registration = followed.informer.addHandler(record);
      expect(registration.hasSynced()).to.equal(false);
      await followed.run();
      await eventually(() => registration.hasSynced());
      expect(record.calls).to.have.members(['initial a', 'initial b']);
      await eventually(() => registration.isIdle());
    });

    it('a handler is synced also when there are no objects', async () => {
      const registration = followed.informer.addHandler({});
      await followed.run();
      await eventually(() => registration.hasSynced());
    });

    it('a handler gets changes in order: an update with the previous state, a deletion with the last state', async () => {
      const record = new HandlerRecord();
      followed.informer.addHandler(record);
      await followed.run();
      await followed.one.create('a', { age: 1 });
      await followed.patch('a', { spec: { age: 2 } });
      await followed.one.create('b', { age: 5 });
      await followed.patch('a', { spec: { age: 3 } });
      await followed.delete('a');
      expect(await record.after(5)).to.deep.equal(['add a', 'update a 1-2', 'add b', 'update a 2-3', 'delete a']);
      expect(record.objects[4]?.spec.age).to.equal(3);
      expect(Object.isFrozen(record.objects[4]?.spec)).to.equal(true);
    });

    it('handlers miss no event and receive none twice when connections are interrupted', async () => {
      const record = new HandlerRecord();
      followed.informer.addHandler(record);
      await followed.run();
      const bases = Array.from({ length: 10 }, (_, index) => `p${index}`);
      for (const [index, base] of bases.entries()) {
        await followed.one.create(base);
        if (index === 4) followed.interrupt();
      }
      await eventually(() => record.calls.length >= bases.length, { timeoutMs: 15_000 });
      expect(record.calls).to.deep.equal(bases.map((base) => `add ${base}`));
    });

    it('a handler gets an addition when an object enters the selection, and a deletion when an object leaves it', async () => {
      await followed.one.create('a');
      const record = new HandlerRecord();
      followed.informer.addHandler(record);
      await followed.run();
      await followed.patch('a', { metadata: { labels: { [caseLabel]: null } } });
      await followed.patch('a', { metadata: { labels: { [caseLabel]: followed.one.id } } });
      expect(await record.after(3)).to.deep.equal(['initial a', 'delete a', 'add a']);
    });

    it('a handler that is added to a running informer receives the existing objects first, then changes', async () => {
      await followed.run();
      const a = await followed.one.create('a');
      await eventually(() => followed.informer.get(keyOf(a)));
      const record = new HandlerRecord();
      const late = followed.informer.addHandler(record);
      await eventually(() => late.hasSynced());
      await followed.one.create('b');
      expect(await record.after(2)).to.deep.equal(['initial a', 'add b']);
    });

    it('a handler that throws still receives the next event, and does not delay other handlers', async () => {
      const record = new HandlerRecord();
      let thrown = 0;
      followed.informer.addHandler({
        onAdd: () => {
          thrown += 1;
          throw new Error('a bug of the handler');
        },
      });
      followed.informer.addHandler(record);
      await followed.run();
      await followed.one.createAll('a', 'b');
      await record.after(2);
      await eventually(() => thrown === 2);
    });

    it('a slow handler does not delay the others', async () => {
      let release = (): void => {};
      const held = new Promise<void>((resolve) => (release = resolve));
      const slow = followed.informer.addHandler({ onAdd: () => held });
      const record = new HandlerRecord();
      followed.informer.addHandler(record);
      await followed.run();
      await followed.one.createAll('a', 'b');
      expect(await record.after(2)).to.deep.equal(['add a', 'add b']);
      expect(slow.isIdle()).to.equal(false);
      release();
      await eventually(() => slow.isIdle());
    });

    it('each handler receives every object again after each resync period of this handler', async () => {
      await followed.one.createAll('a', 'b');
      const [frequent, rare, never] = [new HandlerRecord(), new HandlerRecord(), new HandlerRecord()];
      const registration = followed.informer.addHandler(frequent, { resyncMs: 20 });
      followed.informer.addHandler(rare, { resyncMs: 3_600_000 });
      followed.informer.addHandler(never);
      await followed.run();
      const calls = await frequent.after(6);
      registration.remove();
      expect(calls.slice(0, 2)).to.have.members(['initial a', 'initial b']);
      expect(calls.slice(2, 4)).to.have.members(['resync a', 'resync b']);
      expect(calls.slice(4, 6)).to.have.members(['resync a', 'resync b']);
      for (const { calls: others } of [rare, never]) expect(others).to.have.members(['initial a', 'initial b']);
    });

    it('addHandler refuses a resync period that is not above 0', () => {
      for (const resyncMs of [0, -1, Number.NaN]) {
        expect(() => followed.informer.addHandler({}, { resyncMs })).to.throw(RangeError, /resyncMs must be above 0/);
      }
    });

    it('a handler is not called after it was removed', async () => {
      const removed = new HandlerRecord();
      const kept = new HandlerRecord();
      const registration: HandlerRegistration = followed.informer.addHandler(removed);
      followed.informer.addHandler(kept);
      await followed.run();
      await followed.one.create('a');
      await removed.after(1);
      registration.remove();
      await followed.one.create('b');
      await kept.after(2);
      expect(removed.calls).to.deep.equal(['add a']);
    });
  });
}
