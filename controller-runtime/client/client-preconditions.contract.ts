import { expect } from 'chai';
import type { Preconditions } from '../api/index.ts';
import { ContractSubject, reasonOfRejection } from './contract-subject.fixture.ts';
import type { ContractCase, OpenClient } from './contract-subject.fixture.ts';
import type { Patch, PatchOptions } from './client.ts';
import { Person } from './example-person.fixture.ts';

/**
 * The tests of preconditions: a write fails if the object has changed since the client read it, or if the object was
 * deleted and created again with the same name. Fake clients must pass these tests, too.
 */
export function describePreconditions(subjectName: string, open: OpenClient): void {
  describe(`${subjectName}: the preconditions of writes`, () => {
    const subject = new ContractSubject(open);
    const greeting: Patch = { type: 'merge', patch: { status: { greeting: 'hi' } } };
    const rename: Patch = { type: 'merge', patch: { spec: { name: 'b' } } };

    /** Creates an object, deletes it, and creates another one of the same name. Returns both, the deleted one first. */
    const replaced = async (one: ContractCase): Promise<readonly [Person, Person]> => {
      const former = await one.create('alice');
      await subject.client.delete(Person, former.metadata.name);
      return [former, await one.create('alice')];
    };

    const patch = (person: Person, body: Patch, options: PatchOptions = {}): Promise<unknown> =>
      reasonOfRejection(subject.client.patch(Person, person.metadata.name, body, options));

    const expectUntouched = async (present: Person): Promise<void> => {
      expect(await subject.client.get(Person, present.metadata.name)).to.deep.equal(present);
    };

    it('a patch of the object or of its status rejects with Conflict when the precondition has another uid', async () => {
      const [former, present] = await replaced(subject.newCase());
      const { uid, resourceVersion } = former.metadata;
      expect(await patch(present, rename, { preconditions: { uid } })).to.equal('Conflict');
      expect(await patch(present, rename, { preconditions: { uid, resourceVersion } })).to.equal('Conflict');
      const status = { subresource: 'status', preconditions: { uid } } as const;
      expect(await patch(present, greeting, status)).to.equal('Conflict');
      await expectUntouched(present);
    });

    it('a patch rejects with Conflict when the precondition has an older resourceVersion', async () => {
      const former = await subject.newCase().create('alice');
      const present = await subject.client.patch(Person, former.metadata.name, rename);
      const { resourceVersion } = former.metadata;
      expect(await patch(present, greeting, { preconditions: { resourceVersion } })).to.equal('Conflict');
      await expectUntouched(present);
    });

    it('a patch whose preconditions are met succeeds', async () => {
      const present = await subject.newCase().create('alice');
      const { name, uid, resourceVersion } = present.metadata;
      const preconditions = { uid, resourceVersion };
      expect((await subject.client.patch(Person, name, rename, { preconditions })).spec.name).to.equal('b');
    });

    it('a patch whose preconditions are undefined succeeds', async () => {
      const { name } = (await subject.newCase().create('alice')).metadata;
      const preconditions = { uid: undefined, resourceVersion: undefined } as unknown as Preconditions;
      expect((await subject.client.patch(Person, name, rename, { preconditions })).spec.name).to.equal('b');
    });

    it('a merge patch with another metadata.uid rejects with Invalid, or with Conflict if its resourceVersion is also old', async () => {
      const [former, present] = await replaced(subject.newCase());
      const { uid, resourceVersion } = former.metadata;
      expect(await patch(present, { type: 'merge', patch: { metadata: { uid } } })).to.equal('Invalid');
      const both = { metadata: { uid, resourceVersion } };
      expect(await patch(present, { type: 'merge', patch: both })).to.equal('Conflict');
      await expectUntouched(present);
    });

    it('update and updateStatus reject with Conflict when the object was deleted and created again', async () => {
      const [former, present] = await replaced(subject.newCase());
      expect(await reasonOfRejection(subject.client.update(former))).to.equal('Conflict');
      expect(await reasonOfRejection(subject.client.updateStatus(former, { greeting: 'hi' }))).to.equal('Conflict');
      await expectUntouched(present);
    });

    it('delete rejects with Conflict when its precondition is the uid of a deleted object of the same name', async () => {
      const [former, present] = await replaced(subject.newCase());
      const { name, uid } = former.metadata;
      const refused = subject.client.delete(Person, name, { preconditions: { uid } });
      expect(await reasonOfRejection(refused)).to.equal('Conflict');
      await expectUntouched(present);
    });
  });
}
