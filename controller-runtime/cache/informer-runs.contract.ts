import { expect } from 'chai';
import { keyOf } from '../api/index.ts';
import { Visitor } from '../client/example-person.fixture.ts';
import { eventually } from '../testing/eventually.ts';
import { HandlerRecord } from './followed-case.fixture.ts';
import type { FollowedCase } from './followed-case.fixture.ts';

/** The tests of the start, the end and the restart of an informer. */
export function describeRuns(followed: FollowedCase): void {
  describe('its run', () => {
    it('an informer calls no handler after the promise of run() has settled', async () => {
      const record = new HandlerRecord();
      followed.informer.addHandler(record);
      await followed.run();
      await followed.one.create('a');
      await record.after(1);
      await followed.stop();
      await followed.one.create('b');
      const witness = followed.one.watch({});
      await eventually(() => witness.events.length === 2);
      await witness.stop();
      expect(record.calls).to.deep.equal(['add a']);
    });

    it('several callers of run() share one run, which ends when the last of their signals aborts', async () => {
      await followed.run();
      const record = new HandlerRecord();
      followed.informer.addHandler(record);
      const second = new AbortController();
      const secondRun = followed.informer.run(second.signal);
      await followed.stop();
      await followed.one.create('a');
      expect(await record.after(1)).to.deep.equal(['add a']);
      second.abort();
      await secondRun;
    });

    it('run() with a signal that has already aborted does not start the informer', async () => {
      const aborted = new AbortController();
      aborted.abort();
      await followed.informer.run(aborted.signal);
      expect(followed.informer.hasSynced()).to.equal(false);
    });

    it('the cache is empty and not synced after the end of a run', async () => {
      const a = await followed.one.create('a');
      followed.informer.addIndex('name', ({ spec }) => [spec.name]);
      await followed.run();
      await followed.stop();
      expect(followed.informer.list()).to.deep.equal([]);
      expect(followed.informer.get(keyOf(a))).to.equal(undefined);
      expect(followed.informer.byIndex('name', 'a')).to.deep.equal([]);
      expect(followed.informer.hasSynced()).to.equal(false);
      expect(followed.informer.resourceVersion).to.equal('0');
    });

    it('an informer that runs again sends existing handlers only the differences, and new handlers all objects', async () => {
      await followed.one.createAll('same', 'changed', 'gone', 'replaced');
      const stayed = new HandlerRecord();
      followed.informer.addHandler(stayed);
      await followed.run();
      await stayed.after(4);
      await followed.stop();
      await followed.patch('changed', { spec: { age: 7 } });
      for (const base of ['gone', 'replaced']) await followed.delete(base);
      await followed.one.createAll('new', 'replaced');
      const other = new HandlerRecord();
      const registration = followed.informer.addHandler(other);
      await followed.runAgain();
      await eventually(() => registration.hasSynced());
      const calls = await stayed.after(9);
      expect(calls.slice(4)).to.have.members([
        'update changed undefined-7',
        'delete gone',
        'delete replaced',
        'add replaced',
        'add new',
      ]);
      expect(calls.indexOf('delete replaced')).to.be.below(calls.indexOf('add replaced'));
      expect(other.calls).to.have.members(['initial same', 'initial changed', 'initial new', 'initial replaced']);
      await followed.delete('same');
      expect((await other.after(5)).at(-1)).to.equal('delete same');
      expect((await stayed.after(10)).at(-1)).to.equal('delete same');
    });

    it('a run waits until its kind is served, and continues when a withdrawn kind is served again', async () => {
      const { client } = followed;
      const informer = client.informer(Visitor);
      const names: string[] = [];
      informer.addHandler({ onAdd: ({ metadata }) => void names.push(metadata.name) });
      const synced = followed.followUntilStop(informer);
      await followed.serve(Visitor);
      await synced;
      await client.create(Visitor, { metadata: { name: 'a' }, spec: { name: 'a' } });
      await eventually(() => names.length === 1);
      followed.withdraw(Visitor);
      expect(informer.get({ name: 'a' })?.spec.name).to.equal('a');
      await followed.serve(Visitor);
      await client.create(Visitor, { metadata: { name: 'b' }, spec: { name: 'b' } });
      await eventually(() => names.length === 2);
      expect(names).to.deep.equal(['a', 'b']);
      expect(informer.list()).to.have.length(2);
    });
  });
}
