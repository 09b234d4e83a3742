import { expect } from 'chai';
import { eventually } from '../testing/eventually.ts';
import { caseLabel, reasonOfRejection } from './contract-subject.fixture.ts';
import type { ContractSubject, WatchRecord } from './contract-subject.fixture.ts';
import { Person, Visitor } from './example-person.fixture.ts';

/** The tests of `watch`: its start, its events and its end. */
export function describeWatches(subject: ContractSubject): void {
  const revision = async (): Promise<string> =>
    (await subject.client.list(Person, { limit: 1 })).metadata.resourceVersion;

  const seen = (watch: WatchRecord, count: number) =>
    eventually(() => watch.events.length >= count, {
      describe: () => `${count} events, got ${watch.summary.join(', ')}`,
    });

  const setAge = (name: string, age: number) =>
    subject.client.patch(Person, name, { type: 'merge', patch: { spec: { age } } });

  describe('watch', () => {
    it('yields every change after a revision, once and in order, with the new state of the object, or the last state if it was deleted', async () => {
      const one = subject.newCase();
      await one.create('before');
      const from = await revision();
      await one.create('a');
      const watch = one.watch({ resourceVersion: from });
      await setAge(one.name('a'), 1);
      await one.create('b');
      await subject.client.delete(Person, one.name('a'));
      await seen(watch, 4);
      await watch.stop();
      expect(watch.summary).to.deep.equal(['ADDED a', 'MODIFIED a', 'ADDED b', 'DELETED a']);
      const revisions = watch.events.map(({ object }) => Number((object as Person).metadata.resourceVersion));
      expect(revisions).to.deep.equal(revisions.toSorted((x, y) => x - y));
      expect(new Set(revisions).size).to.equal(4);
      expect(watch.person(3).spec.age).to.equal(1);
      expect(Object.isFrozen(watch.person(1).spec)).to.equal(true);
    });

    it('starts with the existing objects when no revision is given', async () => {
      const one = subject.newCase();
      await one.createAll('a', 'b');
      const watch = one.watch({});
      await seen(watch, 2);
      await one.create('c');
      await seen(watch, 3);
      await watch.stop();
      expect(watch.summary.slice(0, 2)).to.have.members(['ADDED a', 'ADDED b']);
      expect(watch.summary[2]).to.equal('ADDED c');
    });

    it('yields a bookmark with an annotation after the initial events when bookmarks are allowed', async () => {
      const one = subject.newCase();
      await one.createAll('a', 'b');
      const watch = one.watch({ sendInitialEvents: true, allowBookmarks: true });
      await seen(watch, 3);
      await one.create('c');
      await eventually(() => watch.summary.includes('ADDED c'));
      await watch.stop();
      expect(watch.summary.slice(0, 2)).to.have.members(['ADDED a', 'ADDED b']);
      const end = watch.events[2];
      expect(end?.type).to.equal('BOOKMARK');
      expect(watch.person(2).metadata.annotations).to.deep.equal({ 'k8s.io/initial-events-end': 'true' });
      expect(Number(watch.person(2).metadata.resourceVersion)).to.be.at.least(1);
    });

    it('yields no bookmark unless bookmarks are allowed', async () => {
      const one = subject.newCase();
      await one.create('a');
      const watch = one.watch({ sendInitialEvents: true });
      await one.create('b');
      await seen(watch, 2);
      await watch.stop();
      expect(watch.summary).to.have.members(['ADDED a', 'ADDED b']);
    });

    it('reports an object that enters the selection as ADDED, and an object that leaves it as DELETED', async () => {
      const one = subject.newCase();
      const { metadata } = await one.create('a');
      const watch = one.watch({ resourceVersion: await revision() });
      const label = (value: string | null) =>
        subject.client.patch(Person, metadata.name, {
          type: 'merge',
          patch: { metadata: { labels: { [caseLabel]: value } } },
        });
      const left = await label(null);
      const entered = await label(one.id);
      await seen(watch, 2);
      await watch.stop();
      expect(watch.summary).to.deep.equal(['DELETED a', 'ADDED a']);
      const [deleted, added] = watch.events.map(({ object }) => (object as Person).metadata.resourceVersion);
      expect([deleted, added]).to.deep.equal([left, entered].map((object) => object.metadata.resourceVersion));
    });

    it('reports the marking of an object for deletion as MODIFIED, and its removal as DELETED', async () => {
      const one = subject.newCase();
      const draft = one.draft('a');
      const metadata = { ...draft.metadata, finalizers: ['example.com/clean-up'] };
      await subject.client.create(Person, { ...draft, metadata });
      const watch = one.watch({ resourceVersion: await revision() });
      await subject.client.delete(Person, one.name('a'));
      await subject.client.patch(Person, one.name('a'), { type: 'merge', patch: { metadata: { finalizers: null } } });
      await seen(watch, 2);
      await watch.stop();
      expect(watch.summary).to.deep.equal(['MODIFIED a', 'DELETED a']);
    });

    it('misses no event and repeats none when its connection is interrupted', async () => {
      const one = subject.newCase();
      const watch = one.watch({ resourceVersion: await revision() });
      const names = Array.from({ length: 20 }, (_, index) => `p${index}`);
      for (const [index, name] of names.entries()) {
        await one.create(name);
        if (index % 7 === 3) subject.interrupt();
      }
      await eventually(() => watch.events.length >= names.length, { timeoutMs: 15_000 });
      await watch.stop();
      expect(watch.summary).to.deep.equal(names.map((name) => `ADDED ${name}`));
    });

    it('ends without an error when its signal aborts, and when the consumer leaves the loop', async () => {
      const one = subject.newCase();
      await one.create('a');
      const watch = one.watch({});
      await seen(watch, 1);
      await watch.stop();
      expect(watch.failure).to.equal(undefined);
      for await (const event of subject.client.watch(Person, { labelSelector: one.selector })) {
        expect((event.object as Person).spec.name).to.equal('a');
        break;
      }
    });

    it('rejects with Expired when its kind is no longer served', async () => {
      await subject.serve(Visitor);
      const events = subject.client.watch(Visitor, { resourceVersion: await revision() })[Symbol.asyncIterator]();
      const first = events.next();
      await subject.client.create(Visitor, { metadata: { name: 'guest' }, spec: { name: 'guest' } });
      expect((await first).done).to.equal(false);
      const next = events.next();
      subject.withdraw(Visitor);
      expect(await reasonOfRejection(next)).to.equal('Expired');
    });

    it('return() ends a watch that is waiting for an event', async () => {
      const iterator = subject.client.watch(Person, { resourceVersion: await revision() })[Symbol.asyncIterator]();
      const stop = iterator.return?.bind(iterator);
      const next = iterator.next();
      await stop?.();
      expect((await next).done).to.equal(true);
    });
  });
}
