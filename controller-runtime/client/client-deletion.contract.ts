import { expect } from 'chai';
import { reasonOfRejection } from './contract-subject.fixture.ts';
import type { ContractSubject } from './contract-subject.fixture.ts';
import { Person } from './example-person.fixture.ts';

const finalizer = 'example.com/clean-up';

/** The tests of `delete`, with and without finalizers. */
export function describeDeletion(subject: ContractSubject): void {
  const createHeld = async (): Promise<Person> => {
    const draft = subject.newCase().draft('alice');
    return subject.client.create(Person, { ...draft, metadata: { ...draft.metadata, finalizers: [finalizer] } });
  };

  describe('delete', () => {
    it('removes an object without finalizers, and returns undefined', async () => {
      const { metadata } = await subject.newCase().create('alice');
      expect(await subject.client.delete(Person, metadata.name)).to.equal(undefined);
      expect(await reasonOfRejection(subject.client.get(Person, metadata.name))).to.equal('NotFound');
    });

    it('rejects an absent object with NotFound', async () => {
      expect(await reasonOfRejection(subject.client.delete(Person, 'nobody'))).to.equal('NotFound');
    });

    it('rejects with Conflict when the precondition has another uid or resourceVersion than the object', async () => {
      const { metadata } = await subject.newCase().create('alice');
      for (const preconditions of [{ uid: '00000000-0000-4000-8000-000000000000' }, { resourceVersion: '1' }]) {
        const refused = subject.client.delete(Person, metadata.name, { preconditions });
        expect(await reasonOfRejection(refused), JSON.stringify(preconditions)).to.equal('Conflict');
      }
      const { uid, resourceVersion } = metadata;
      const preconditions = { uid, resourceVersion };
      expect(await subject.client.delete(Person, metadata.name, { preconditions })).to.equal(undefined);
    });

    it('sets deletionTimestamp on an object with a finalizer; the object can still be read', async () => {
      const { metadata } = await createHeld();
      const deleted = await subject.client.delete(Person, metadata.name);
      expect(deleted?.metadata.deletionTimestamp).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(deleted?.metadata.generation).to.equal(2);
      expect(await subject.client.get(Person, metadata.name)).to.deep.equal(deleted);
    });

    it('a deleted object that has finalizers disappears when its last finalizer is removed', async () => {
      const { metadata } = await createHeld();
      const deleted = (await subject.client.delete(Person, metadata.name)) as Person;
      await subject.client.update({ ...deleted, metadata: { ...deleted.metadata, finalizers: [] } });
      expect(await reasonOfRejection(subject.client.get(Person, metadata.name))).to.equal('NotFound');
    });

    it('refuses new finalizers, and a new object of the same name, while finalizers keep the deleted object', async () => {
      const { metadata, spec } = await createHeld();
      const deleted = (await subject.client.delete(Person, metadata.name)) as Person;
      const finalizers = [finalizer, 'example.com/another'];
      const added = subject.client.update({ ...deleted, metadata: { ...deleted.metadata, finalizers } });
      expect(await reasonOfRejection(added)).to.equal('Invalid');
      const created = subject.client.create(Person, { metadata: { name: metadata.name }, spec });
      expect(await reasonOfRejection(created)).to.equal('AlreadyExists');
    });

    it('makes the name available for a new object, which has a different uid', async () => {
      const one = subject.newCase();
      const first = await one.create('alice');
      await subject.client.delete(Person, first.metadata.name);
      const second = await one.create('alice');
      expect(second.metadata.version).to.equal(1);
      expect(second.metadata.uid).not.to.equal(first.metadata.uid);
    });
  });
}
