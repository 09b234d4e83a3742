import { expect } from 'chai';
import { createEntry } from '../../index/create-entry.ts';
import type { IndexValues } from '../../index/entry.ts';
import { Slabs } from '../../index/slabs.ts';
import type { StoredEntry } from '../../index/stored-entry.ts';
import type { Change } from '../../store/store.ts';
import { encodeObject, withRevision } from '../object/object-codec.ts';
import { EntryNotes } from './entry-notes.ts';

const [fingerprint, other] = ['a', 'b'].map((fill) => Buffer.alloc(32, fill).toString('base64')) as [string, string];

const person = {
  apiVersion: 'people.example.com/v1',
  kind: 'Person',
  metadata: {
    name: 'ada',
    namespace: 'default',
    uid: 'u-1',
    version: 1,
    resourceVersion: '',
    generation: 1,
    creationTimestamp: '2023-01-01T00:00:00Z',
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u-2', blockOwnerDeletion: true }],
    deletionTimestamp: '2024-01-01T00:00:00Z',
    finalizers: ['orphan'],
  },
};
const values: IndexValues = ['ada', ['x=1', 'y=2'], '\u0100', []];
const revision = 2 ** 32 + 5;

function changeOf(note: Uint8Array | undefined): Change {
  const key = '/registry/people.example.com/persons/default/ada';
  return { op: 'create', key, kind: 1, revision, data: encodeObject(person), ...(note && { note }) };
}

/** Returns all fields of an entry. */
function fieldsOf({
  key,
  name,
  namespace,
  uid,
  revision: of,
  size,
  values: all,
  owners,
  deletion,
}: StoredEntry): object {
  return { key, name, namespace, uid, of, size, all, owners, deletion };
}

describe('the note that a process sends to other processes with the change of an object', () => {
  it('contains the record of the object, so that a process that receives it need not parse the object', () => {
    const note = new EntryNotes(fingerprint).write(person, values);
    const slabs = new Slabs();
    const entry = new EntryNotes(fingerprint).read(changeOf(note), slabs);
    const bytes = withRevision(encodeObject(person), revision);
    const computed = createEntry(person, { revision, bytes, values });
    expect(entry && fieldsOf(entry)).to.deep.equal(fieldsOf(computed));
    expect(entry?.bytes.equals(bytes)).to.equal(true);
  });

  it('is ignored when the writer of the change had other indexes, and when the object cannot be decrypted', () => {
    const note = new EntryNotes(fingerprint).write(person, values);
    const read = (change: Change, of = fingerprint): unknown => new EntryNotes(of).read(change, new Slabs());
    expect(read(changeOf(note), other)).to.equal(undefined);
    expect(read(changeOf(undefined))).to.equal(undefined);
    expect(read({ ...changeOf(note), problem: 'no key' })).to.equal(undefined);
  });

  it('stays valid while other notes of any length are written', () => {
    const notes = new EntryNotes(fingerprint);
    const written = Array.from({ length: 400 }, (_, at) => {
      const labels = Array.from({ length: at === 200 ? 20_000 : 3 }, (__, label) => `label-${label}=${at}`);
      return { at, labels, note: notes.write({ metadata: { name: `p-${at}` } }, [`p-${at}`, labels]) };
    });
    for (const { at, labels, note } of written) {
      const entry = notes.read(changeOf(note), new Slabs());
      expect(entry?.name).to.equal(`p-${at}`);
      expect(entry?.values).to.deep.equal([`p-${at}`, labels]);
    }
  });
});
