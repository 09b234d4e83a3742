import { expect } from 'chai';
import { reasonOfRejection } from './contract-subject.fixture.ts';
import type { NewObject } from '../api/index.ts';
import type { ContractSubject } from './contract-subject.fixture.ts';
import { createOrUpdate } from './create-or-update.ts';
import { Person } from './example-person.fixture.ts';

/** The tests of `ensure` and `createOrUpdate`, and of several writers of one object. */
export function describeConcurrency(subject: ContractSubject): void {
  describe('createOrUpdate', () => {
    const change = (present: Person | undefined): NewObject<Person> => ({
      metadata: { name: '', labels: { counted: 'yes' } },
      spec: { name: 'A', age: Math.min((present?.spec.age ?? 0) + 1, 3) },
    });

    it('derives the new object from the current one, and reports whether it was created, updated or unchanged', async () => {
      const name = subject.newCase().name('alice');
      const results: string[] = [];
      for (let call = 0; call < 4; call += 1) {
        const { object, result } = await createOrUpdate(subject.client, Person, { key: name, change });
        results.push(`${result} ${object.spec.age} ${object.metadata.version}`);
      }
      expect(results).to.deep.equal(['created 1 1', 'updated 2 2', 'updated 3 3', 'unchanged 3 3']);
      expect((await subject.client.get(Person, name)).metadata.labels).to.deep.equal({ counted: 'yes' });
    });

    it('loses no change when calls are concurrent', async () => {
      const name = subject.newCase().name('alice');
      const count = (present: Person | undefined): NewObject<Person> => ({
        metadata: { name },
        spec: { name: 'A', age: (present?.spec.age ?? 0) + 1 },
      });
      const all = Array.from({ length: 4 }, () => createOrUpdate(subject.client, Person, { key: name, change: count }));
      await Promise.all(all);
      expect((await subject.client.get(Person, name)).spec.age).to.equal(4);
    });

    it('rejects with Conflict when the uid is not the uid of the stored object', async () => {
      const { name } = (await subject.newCase().create('alice')).metadata;
      const foreign = (): NewObject<Person> => ({
        metadata: { name, uid: '00000000-0000-4000-8000-000000000000' },
        spec: { name: 'B' },
      });
      const failure = createOrUpdate(subject.client, Person, { key: name, change: foreign });
      expect(await reasonOfRejection(failure)).to.equal('Conflict');
    });
  });

  describe('ensure', () => {
    it('creates an absent object, and merges into an existing one', async () => {
      const name = subject.newCase().name('alice');
      const created = await subject.client.ensure(Person, name, { spec: { name: 'A', age: 3 } });
      expect(created.metadata).to.include({ name, version: 1 });
      const merged = await subject.client.ensure(Person, { name }, { spec: { age: 4 } });
      expect(merged.spec).to.deep.equal({ name: 'A', age: 4 });
      expect(merged.metadata.version).to.equal(2);
      expect(await subject.client.get(Person, name)).to.deep.equal(merged);
    });

    it('writes nothing when the object already has all desired values', async () => {
      const one = await subject.newCase().create('alice', { age: 3, tags: ['x'] });
      const desired = { metadata: { labels: { ...one.metadata.labels } }, spec: { tags: ['x'], age: 3 } };
      expect(await subject.client.ensure(Person, one.metadata.name, desired)).to.deep.equal(one);
      expect(await subject.client.get(Person, one.metadata.name)).to.deep.equal(one);
    });

    it('tries again when another client writes the same object, so that no change is lost', async () => {
      const name = subject.newCase().name('alice');
      const writers = ['a', 'b', 'c', 'd'];
      await Promise.all(
        writers.map((writer) =>
          subject.client.ensure(Person, name, {
            metadata: { annotations: { [`example.com/${writer}`]: 'here' } },
            spec: { name: 'A' },
          }),
        ),
      );
      const { annotations = {} } = (await subject.client.get(Person, name)).metadata;
      expect(annotations).to.include.all.keys(writers.map((writer) => `example.com/${writer}`));
    });

    it('rejects with Invalid an object that breaks the schema', async () => {
      const { metadata } = await subject.newCase().create('alice');
      const invalid = subject.client.ensure(Person, metadata.name, { spec: { age: 151 } });
      expect(await reasonOfRejection(invalid)).to.equal('Invalid');
    });
  });

  describe('writers of one object', () => {
    it('one of several concurrent updates of the same revision succeeds, and the others get Conflict', async () => {
      const old = await subject.newCase().create('alice', { age: 0 });
      const writes = [1, 2, 3, 4, 5].map((age) => subject.client.update({ ...old, spec: { ...old.spec, age } }));
      const outcomes = await Promise.all(writes.map(reasonOfRejection));
      expect(outcomes).to.have.members(['Conflict', 'Conflict', 'Conflict', 'Conflict', 'resolved']);
      expect((await subject.client.get(Person, old.metadata.name)).metadata.version).to.equal(2);
    });

    it('one of several concurrent creates of an object succeeds, and the others get AlreadyExists', async () => {
      const one = subject.newCase();
      const outcomes = await Promise.all([1, 2, 3].map(() => reasonOfRejection(one.create('alice'))));
      expect(outcomes).to.have.members(['AlreadyExists', 'AlreadyExists', 'resolved']);
    });
  });
}
