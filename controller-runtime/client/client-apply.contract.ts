import { expect } from 'chai';
import type { ApiError } from '../api/index.ts';
import { reasonOfRejection } from './contract-subject.fixture.ts';
import type { ContractSubject } from './contract-subject.fixture.ts';
import { Person } from './example-person.fixture.ts';

/** The tests of `apply`, which is server-side apply. */
export function describeApply(subject: ContractSubject): void {
  const asA = { fieldManager: 'a' } as const;
  const asB = { fieldManager: 'b' } as const;

  describe('apply', () => {
    it('creates an absent object, and changes the applied fields of an existing object', async () => {
      const one = subject.newCase();
      const created = await subject.client.apply(Person, one.draft('alice', { age: 3 }), asA);
      expect(created.spec).to.deep.equal({ name: 'alice', age: 3 });
      expect(created.metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`)).to.deep.equal([
        'a Apply',
      ]);
      const changed = await subject.client.apply(Person, one.draft('alice', { age: 4 }), asA);
      expect(changed.spec).to.deep.equal({ name: 'alice', age: 4 });
      expect(await subject.client.get(Person, changed.metadata.name)).to.deep.equal(changed);
      expect(() => Object.assign(changed.spec, { age: 5 })).to.throw(TypeError);
    });

    it('writes nothing when the same fields are applied a second time', async () => {
      const draft = subject.newCase().draft('alice', { age: 3 });
      const first = await subject.client.apply(Person, draft, asA);
      expect(await subject.client.apply(Person, draft, asA)).to.deep.equal(first);
    });

    it('removes fields that the next call leaves out, unless another manager owns them', async () => {
      const one = subject.newCase();
      await subject.client.apply(Person, one.draft('alice', { age: 3, tags: ['x'] }), asA);
      await subject.client.apply(Person, { metadata: { name: one.name('alice') }, spec: { age: 3 } }, asB);
      const { spec } = await subject.client.apply(Person, one.draft('alice'), asA);
      expect(spec).to.deep.equal({ name: 'alice', age: 3 });
    });

    it("rejects changes of another manager's fields with Conflict and a cause for each, unless forced", async () => {
      const one = subject.newCase();
      await subject.client.apply(Person, one.draft('alice', { age: 3 }), asA);
      const wanted = { metadata: { name: one.name('alice') }, spec: { age: 4 } };
      const error = await subject.client.apply(Person, wanted, asB).then(
        () => undefined,
        (reason: unknown) => reason as ApiError,
      );
      expect(error).to.include({ reason: 'Conflict' });
      expect(error?.causes).to.deep.equal([
        { reason: 'FieldManagerConflict', message: 'conflict with "a"', field: '.spec.age' },
      ]);
      expect((await subject.client.apply(Person, wanted, { ...asB, force: true })).spec.age).to.equal(4);
    });

    it('changes only the status when the subresource is "status", and stores nothing in a dry run', async () => {
      const draft = subject.newCase().draft('alice');
      const created = await subject.client.apply(Person, draft, asA);
      const status = { ...draft, spec: { name: 'another name' }, status: { greeting: 'hi' } };
      const dry = await subject.client.apply(Person, status, { ...asB, subresource: 'status', dryRun: true });
      expect(dry.status).to.deep.equal({ greeting: 'hi' });
      expect(await subject.client.get(Person, draft.metadata.name)).to.deep.equal(created);
      const written = await subject.client.apply(Person, status, { ...asB, subresource: 'status' });
      expect(written.status).to.deep.equal({ greeting: 'hi' });
      expect(written.spec).to.deep.equal(created.spec);
    });

    it('rejects with Invalid a field manager that is empty, unprintable or longer than 128 characters', async () => {
      const draft = subject.newCase().draft('alice');
      for (const fieldManager of ['', 'a\u0007', 'x'.repeat(129)]) {
        expect(await reasonOfRejection(subject.client.apply(Person, draft, { fieldManager }))).to.equal('Invalid');
      }
    });
  });
}
