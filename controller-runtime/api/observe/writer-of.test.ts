import { expect } from 'chai';
import type { ApiObject, ManagedFieldsEntry } from '../object/object.ts';
import { writerOf } from './writer-of.ts';

const [first, second] = ['2030-01-01T00:00:01Z', '2030-01-01T00:00:02Z'];

function entry(manager: string, time: string, subresource?: string): ManagedFieldsEntry {
  const fields = { operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} } as const;
  return { manager, time, ...fields, ...(subresource === undefined ? {} : { subresource }) };
}

function state(managedFields: readonly ManagedFieldsEntry[], generation = 1, status?: unknown): ApiObject {
  const metadata = { name: 'ada', uid: 'u', version: 1, resourceVersion: '1', generation, creationTimestamp: first };
  return Object.assign({ apiVersion: 'v1', kind: 'Person', metadata: { ...metadata, managedFields } }, { status });
}

describe('the manager that wrote a state of an object', () => {
  it('if managedFields has one entry, its manager is the writer; if it has several, the manager of the changed entry is the writer', () => {
    expect(writerOf(state([]))).to.equal(undefined);
    expect(writerOf(state([entry('author', first)]))).to.equal('author');
    const before = state([entry('author', first), entry('robot', first, 'status')]);
    expect(writerOf(state([entry('author', second), entry('robot', first, 'status')], 2), before)).to.equal('author');
    expect(writerOf(state([entry('author', first), entry('robot', second, 'status')]), before)).to.equal('robot');
  });

  it('if no entry changed, the writer is the only manager whose entry has the latest time and is for the changed part (status or rest)', () => {
    const both = [entry('author', first), entry('robot', first, 'status')];
    expect(writerOf(state(both, 2), state(both, 1))).to.equal('author');
    expect(writerOf(state(both, 1, { a: 2 }), state(both, 1, { a: 1 }))).to.equal('robot');
    const three = [...both, entry('editor', first)];
    expect(writerOf(state(three, 2), state(three, 1))).to.equal(undefined);
  });
});
