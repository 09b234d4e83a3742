import { expect } from 'chai';
import { problemsAt } from './field-problems.ts';
import { editableOf, ownersOfField, rebase } from './draft.ts';
import { parseText } from './object-text.ts';

const stored = {
  apiVersion: 'g/v1',
  kind: 'Thing',
  metadata: {
    name: 'a',
    uid: 'u',
    resourceVersion: '5',
    labels: { team: 'red' },
    managedFields: [
      { manager: 'ci', operation: 'Apply', fieldsV1: { 'f:spec': { 'f:size': {} } } },
      { manager: 'kubectl', operation: 'Update', fieldsV1: { 'f:spec': { 'f:name': {} } } },
    ],
  },
  spec: { name: 'x', size: 1 },
  status: { phase: 'Ready' },
};

describe('a draft of an object in the editor', () => {
  it('has the fields that people write, but not the fields that the server sets', () => {
    expect(editableOf(stored)).to.deep.equal({
      apiVersion: 'g/v1',
      kind: 'Thing',
      metadata: { name: 'a', labels: { team: 'red' } },
      spec: { name: 'x', size: 1 },
    });
  });

  it('keeps the typed changes when others change the object', () => {
    const base = editableOf(stored);
    const draft = { ...base, spec: { name: 'typed', size: 1 } };
    const theirs = { ...base, spec: { name: 'x', size: 7 } };
    const { draft: merged, conflicts } = rebase(draft, base, theirs);
    expect(merged.spec).to.deep.equal({ name: 'typed', size: 7 });
    expect(conflicts).to.deep.equal([]);
  });

  it('has as owners of a field only those field managers that set the field with apply', () => {
    expect(ownersOfField(stored, ['spec', 'size'])).to.deep.equal(['ci']);
    expect(ownersOfField(stored, ['spec', 'name'])).to.deep.equal([]);
  });

  it("finds the server's messages for a field", () => {
    const causes = [
      { field: 'spec.items[0].name', message: 'too long', reason: '' },
      { field: 'metadata.labels["a.b/c"]', message: 'bad', reason: '' },
    ];
    expect(problemsAt(causes, ['spec', 'items', 0, 'name'])).to.deep.equal(['too long']);
    expect(problemsAt(causes, ['metadata', 'labels', 'a.b/c'])).to.deep.equal(['bad']);
  });

  it('says in which line the YAML is wrong', () => {
    expect(parseText('a: 1\nb: [1,\n')).to.have.property('mistake');
    expect(parseText('- 1')).to.deep.equal({ mistake: { line: 1, message: 'must be an object: fields with values' } });
    expect(parseText('a: {b: 1}')).to.deep.equal({ object: { a: { b: 1 } } });
  });
});
