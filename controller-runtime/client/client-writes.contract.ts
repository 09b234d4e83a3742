import { expect } from 'chai';
import type { ApiError, NewObject } from '../api/index.ts';
import type { Client } from './client.ts';
import { reasonOfRejection } from './contract-subject.fixture.ts';
import type { ContractSubject } from './contract-subject.fixture.ts';
import { Person } from './example-person.fixture.ts';

/** The tests of `create`, `get`, `update`, `updateStatus` and `patch`, one request at a time. */
export function describeWrites(subject: ContractSubject): void {
  describeCreation(subject);
  describeUpdate(subject);
  describeStatus(subject);
  describePatch(subject);
  describeDryRun(subject);
}

const withoutPreconditions = ({ metadata, ...object }: Person): Person => {
  const { resourceVersion: _revision, version: _version, ...rest } = metadata;
  return { ...object, metadata: rest as Person['metadata'] };
};

const errorOf = async (promise: Promise<unknown>): Promise<ApiError> => {
  const error: unknown = await promise.then(
    () => new Error('resolved'),
    (reason: unknown) => reason,
  );
  return error as ApiError;
};

function describeCreation(subject: ContractSubject): void {
  describe('create and get', () => {
    it('create and get return the same frozen object, with the fields that the server sets', async () => {
      const created = await subject.newCase().create('alice', { age: 30 });
      expect(created).to.include({ apiVersion: 'people.example.com/v1alpha1', kind: 'Person' });
      expect(created.spec).to.deep.equal({ name: 'alice', age: 30 });
      expect(created.metadata).to.include({ version: 1, generation: 1 });
      expect(created.metadata.uid).to.match(/^[0-9a-f-]{36}$/);
      expect(created.metadata.resourceVersion).to.match(/^[1-9][0-9]*$/);
      expect(created.metadata.creationTimestamp).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      const read = await subject.client.get(Person, created.metadata.name);
      expect(read).to.deep.equal(created);
      expect(() => Object.assign(created.spec, { age: 31 })).to.throw(TypeError);
      expect(() => Object.assign(read.metadata, { name: 'bob' })).to.throw(TypeError);
    });

    it('create generates a name from generateName', async () => {
      const metadata = { generateName: `${subject.newCase().id}-` };
      const created = await subject.client.create(Person, { metadata, spec: { name: 'A' } });
      expect(created.metadata.name).to.match(new RegExp(`^${metadata.generateName}[a-z0-9]{5}$`));
    });

    it('create rejects with AlreadyExists for a second object of the same name', async () => {
      const one = subject.newCase();
      await one.create('alice');
      expect(await reasonOfRejection(one.create('alice'))).to.equal('AlreadyExists');
    });

    it('create rejects with Invalid and a cause for each field when an object breaks the schema', async () => {
      const draft = { ...subject.newCase().draft('alice'), spec: { age: 151 } };
      const error = await errorOf(subject.client.create(Person, draft as unknown as NewObject<Person>));
      expect(error.reason).to.equal('Invalid');
      expect(error.causes.map(({ field }) => field)).to.have.members(['spec.name', 'spec.age']);
    });

    it('create rejects with Invalid for a name that breaks the naming rule', async () => {
      const draft = { metadata: { name: 'No Name' }, spec: { name: 'A' } };
      expect(await reasonOfRejection(subject.client.create(Person, draft))).to.equal('Invalid');
    });

    it('create rejects with BadRequest for an object with a resourceVersion', async () => {
      const draft = subject.newCase().draft('alice');
      const metadata = { ...draft.metadata, resourceVersion: '1' };
      expect(await reasonOfRejection(subject.client.create(Person, { ...draft, metadata }))).to.equal('BadRequest');
    });

    it('create removes fields that the schema does not know, and refuses them with fieldValidation Strict', async () => {
      const draft = subject.newCase().draft('alice', { bogus: 1 } as object);
      const strict = subject.client.create(Person, draft, { fieldValidation: 'Strict' });
      expect(await reasonOfRejection(strict)).to.equal('BadRequest');
      expect((await subject.client.create(Person, draft)).spec).to.deep.equal({ name: 'alice' });
    });

    it('get rejects with NotFound for an absent object', async () => {
      expect(await reasonOfRejection(subject.client.get(Person, 'nobody'))).to.equal('NotFound');
    });
  });
}

function describeUpdate(subject: ContractSubject): void {
  const changed = (object: Person, age: number): Person => ({ ...object, spec: { ...object.spec, age } });

  describe('update', () => {
    it('replaces the object, and increases version and generation', async () => {
      const old = await subject.newCase().create('alice', { age: 30, tags: ['a'] });
      const updated = await subject.client.update({ ...old, spec: { name: 'Alice' } });
      expect(updated.spec).to.deep.equal({ name: 'Alice' });
      expect(updated.metadata).to.include({ version: 2, generation: 2, uid: old.metadata.uid });
      expect(Number(updated.metadata.resourceVersion)).to.be.above(Number(old.metadata.resourceVersion));
      expect(await subject.client.get(Person, old.metadata.name)).to.deep.equal(updated);
    });

    it('does not increase the generation when only labels change', async () => {
      const old = await subject.newCase().create('alice');
      const labels = { ...old.metadata.labels, 'example.com/team': 'red' };
      const updated = await subject.client.update({ ...old, metadata: { ...old.metadata, labels } });
      expect(updated.metadata).to.include({ version: 2, generation: 1 });
    });

    it('writes nothing when nothing changes', async () => {
      const old = await subject.newCase().create('alice');
      expect(await subject.client.update(old)).to.deep.equal(old);
    });

    it('rejects with Conflict when the resourceVersion or version is stale, or when the uid differs', async () => {
      const { client } = subject;
      const old = await subject.newCase().create('alice');
      const current = await client.update(changed(old, 1));
      const { version, resourceVersion } = old.metadata;
      const stale = [{ resourceVersion }, { version }, { uid: '00000000-0000-4000-8000-000000000000' }];
      expect(await reasonOfRejection(client.update(changed(old, 2)))).to.equal('Conflict');
      for (const field of stale) {
        const object = { ...changed(current, 2), metadata: { ...current.metadata, ...field } };
        expect(await reasonOfRejection(client.update(object)), JSON.stringify(field)).to.equal('Conflict');
      }
      expect(await client.get(Person, old.metadata.name)).to.deep.equal(current);
    });

    it('replaces the object at any revision when the new state has neither version nor resourceVersion', async () => {
      const old = await subject.newCase().create('alice');
      await subject.client.update(changed(old, 1));
      const updated = await subject.client.update(withoutPreconditions(changed(old, 2)));
      expect(updated.spec.age).to.equal(2);
      expect(updated.metadata.version).to.equal(3);
    });

    it('rejects an absent object with NotFound', async () => {
      const object = withoutPreconditions(await subject.newCase().create('alice'));
      const absent = { ...object, metadata: { ...object.metadata, name: 'nobody' } };
      expect(await reasonOfRejection(subject.client.update(absent))).to.equal('NotFound');
    });

    it('rejects with Invalid an object that breaks the schema, and does not change the stored object', async () => {
      const old = await subject.newCase().create('alice', { age: 3 });
      expect(await reasonOfRejection(subject.client.update(changed(old, -1)))).to.equal('Invalid');
      expect(await subject.client.get(Person, old.metadata.name)).to.deep.equal(old);
    });
  });
}

function describeStatus(subject: ContractSubject): void {
  describe('updateStatus', () => {
    it('changes only the status; the generation stays the same', async () => {
      const old = await subject.newCase().create('alice', { age: 3 });
      const object = { ...old, spec: { name: 'another name' } };
      const updated = await subject.client.updateStatus(object, { greeting: 'hi' });
      expect(updated.status).to.deep.equal({ greeting: 'hi' });
      expect(updated.spec).to.deep.equal(old.spec);
      expect(updated.metadata).to.include({ version: 2, generation: 1 });
      expect(await subject.client.get(Person, old.metadata.name)).to.deep.equal(updated);
    });

    it('rejects with Conflict when the resourceVersion is stale, or when the uid differs', async () => {
      const { client } = subject;
      const old = await subject.newCase().create('alice');
      const current = await client.updateStatus(old, { greeting: 'one' });
      expect(await reasonOfRejection(client.updateStatus(old, { greeting: 'two' }))).to.equal('Conflict');
      const metadata = { ...current.metadata, uid: '00000000-0000-4000-8000-000000000000' };
      const another = client.updateStatus({ ...current, metadata }, { greeting: 'two' });
      expect(await reasonOfRejection(another)).to.equal('Conflict');
    });

    it('sets a status that later updates of the object do not change', async () => {
      const { status: _status, ...object } = await subject.client.updateStatus(
        await subject.newCase().create('alice'),
        {
          greeting: 'hi',
        },
      );
      const updated = await subject.client.update<Person>({ ...object, spec: { name: 'Alice' } });
      expect(updated.status).to.deep.equal({ greeting: 'hi' });
    });
  });
}

function describePatch(subject: ContractSubject): void {
  const patched = async (patch: Parameters<Client['patch']>[2]): Promise<Person> => {
    const { metadata } = await subject.newCase().create('alice', { age: 3 });
    return subject.client.patch(Person, metadata.name, patch);
  };

  describe('patch', () => {
    it('applies a merge patch (RFC 7396), in which null removes a field', async () => {
      const updated = await patched({ type: 'merge', patch: { spec: { age: null, tags: ['x'] } } });
      expect(updated.spec).to.deep.equal({ name: 'alice', tags: ['x'] });
      expect(updated.metadata).to.include({ version: 2, generation: 2 });
    });

    it('applies all operations of a JSON patch (RFC 6902), or none', async () => {
      const replace = { op: 'replace', path: '/spec/age', value: 4 } as const;
      expect((await patched({ type: 'json', operations: [replace] })).spec.age).to.equal(4);
      const { metadata } = await subject.newCase().create('alice', { age: 3 });
      const operations = [replace, { op: 'test', path: '/spec/age', value: 5 } as const];
      const failing = subject.client.patch(Person, metadata.name, { type: 'json', operations });
      expect(await reasonOfRejection(failing)).to.equal('Invalid');
      expect((await subject.client.get(Person, metadata.name)).spec.age).to.equal(3);
    });

    it('changes only the status when the subresource is "status", even if the patch changes the spec', async () => {
      const { metadata, spec } = await subject.newCase().create('alice');
      const patch = { spec: { name: 'another name' }, status: { greeting: 'hi' } };
      const options = { subresource: 'status' } as const;
      const updated = await subject.client.patch(Person, metadata.name, { type: 'merge', patch }, options);
      expect(updated.status).to.deep.equal({ greeting: 'hi' });
      expect(updated.spec).to.deep.equal(spec);
      expect(updated.metadata.generation).to.equal(1);
    });

    it('treats a resourceVersion in the patch as a precondition', async () => {
      const stale = patched({ type: 'merge', patch: { metadata: { resourceVersion: '1' }, spec: { age: 4 } } });
      expect(await reasonOfRejection(stale)).to.equal('Conflict');
    });

    it('rejects an absent object with NotFound', async () => {
      const absent = subject.client.patch(Person, 'nobody', { type: 'merge', patch: { spec: { age: 4 } } });
      expect(await reasonOfRejection(absent)).to.equal('NotFound');
    });
  });
}

function describeDryRun(subject: ContractSubject): void {
  const options = { dryRun: true } as const;

  describe('dryRun', () => {
    it('create returns the object without a resourceVersion, and stores nothing', async () => {
      const draft = subject.newCase().draft('alice');
      const answer = await subject.client.create(Person, draft, options);
      expect(answer.spec).to.deep.equal(draft.spec);
      expect(answer.metadata).not.to.have.property('resourceVersion');
      expect(await reasonOfRejection(subject.client.get(Person, draft.metadata.name))).to.equal('NotFound');
    });

    it('update, updateStatus, patch, delete and ensure return their results, and store nothing', async () => {
      const { client } = subject;
      const old = await subject.newCase().create('alice', { age: 3 });
      const { name } = old.metadata;
      expect((await client.update({ ...old, spec: { name: 'A' } }, options)).spec).to.deep.equal({ name: 'A' });
      expect((await client.updateStatus(old, { greeting: 'hi' }, options)).status).to.deep.equal({ greeting: 'hi' });
      const merged = await client.patch(Person, name, { type: 'merge', patch: { spec: { age: 4 } } }, options);
      expect(merged.spec.age).to.equal(4);
      expect(await client.delete(Person, name, options)).to.equal(undefined);
      expect((await client.ensure(Person, name, { spec: { age: 5 } }, options)).spec.age).to.equal(5);
      expect(await client.get(Person, name)).to.deep.equal(old);
    });

    it('rejects a write that would be rejected without the dry run', async () => {
      const one = subject.newCase();
      await one.create('alice');
      expect(await reasonOfRejection(subject.client.create(Person, one.draft('alice'), options))).to.equal(
        'AlreadyExists',
      );
      const invalid = subject.client.create(Person, one.draft('bob', { age: 151 }), options);
      expect(await reasonOfRejection(invalid)).to.equal('Invalid');
    });
  });
}
