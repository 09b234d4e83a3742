import { expect } from 'chai';
import type { ApiObject, OwnerReference } from '../../api/index.ts';
import { addFinalizer, removeFinalizer } from '../run/finalizers.ts';
import {
  controllerOf,
  controllerReferenceTo,
  ownerReferenceTo,
  removeOwnerReference,
  setOwnerReference,
} from './owner-references.ts';

function owner(name: string, uid: string, apiVersion = 'people.example.com/v1'): ApiObject {
  return { apiVersion, kind: 'Person', metadata: { name, uid } as ApiObject['metadata'] };
}

describe('owner references', () => {
  const ada = controllerReferenceTo(owner('ada', 'u1'));

  it('a reference has six fields for an owner that is the controller, and four for any other owner', () => {
    expect(ada).to.deep.equal({
      apiVersion: 'people.example.com/v1',
      kind: 'Person',
      name: 'ada',
      uid: 'u1',
      controller: true,
      blockOwnerDeletion: true,
    });
    expect(ownerReferenceTo(owner('ada', 'u1'))).to.have.all.keys('apiVersion', 'kind', 'name', 'uid');
  });

  it('a reference is added at the end of the list; the same list is returned when it has the reference already', () => {
    const plain = ownerReferenceTo(owner('bob', 'u2'));
    const references = setOwnerReference([plain], ada);
    expect(references).to.deep.equal([plain, ada]);
    expect(setOwnerReference(references, { ...ada })).to.equal(references);
    expect(setOwnerReference(undefined, ada)).to.deep.equal([ada]);
  });

  it('a reference replaces a reference with the same group, kind and name, even if the version and the uid differ', () => {
    const again = controllerReferenceTo(owner('ada', 'u9', 'people.example.com/v2'));
    expect(setOwnerReference([ada], again)).to.deep.equal([again]);
  });

  it('a reference to a second controller is refused', () => {
    expect(() => setOwnerReference([ada], controllerReferenceTo(owner('bob', 'u2')))).to.throw(
      'already has the controller Person "ada"',
    );
    const otherGroup = controllerReferenceTo(owner('ada', 'u1', 'other.example.com/v1'));
    expect(() => setOwnerReference([ada], otherGroup)).to.throw('cannot control it');
    expect(setOwnerReference([ada], ownerReferenceTo(owner('bob', 'u2')))).to.have.length(2);
  });

  it('removeOwnerReference removes the reference with the uid of the owner, or returns the same list when there is none', () => {
    const references: readonly OwnerReference[] = [ada];
    expect(removeOwnerReference(references, owner('ada', 'u1'))).to.deep.equal([]);
    expect(removeOwnerReference(references, owner('ada', 'u2'))).to.equal(references);
  });

  it('controllerOf returns the reference to the owner that is the controller, or undefined', () => {
    const { metadata } = owner('badge', 'b');
    const plain = ownerReferenceTo(owner('bob', 'u2'));
    expect(controllerOf({ metadata: { ...metadata, ownerReferences: [plain, ada] } })).to.equal(ada);
    expect(controllerOf({ metadata: { ...metadata, ownerReferences: [plain] } })).to.equal(undefined);
    expect(controllerOf({ metadata })).to.equal(undefined);
  });
});

describe('finalizers', () => {
  it('addFinalizer adds a missing finalizer at the end of the list, and returns whether the list has changed', () => {
    expect(addFinalizer(['a'], 'b')).to.deep.equal({ finalizers: ['a', 'b'], changed: true });
    expect(addFinalizer(['a', 'b'], 'a')).to.deep.equal({ finalizers: ['a', 'b'], changed: false });
    expect(addFinalizer(undefined, 'a')).to.deep.equal({ finalizers: ['a'], changed: true });
  });

  it('removeFinalizer removes a finalizer from the list, and returns whether the list has changed', () => {
    expect(removeFinalizer(['a', 'b'], 'a')).to.deep.equal({ finalizers: ['b'], changed: true });
    expect(removeFinalizer(['b'], 'a')).to.deep.equal({ finalizers: ['b'], changed: false });
    expect(removeFinalizer(undefined, 'a')).to.deep.equal({ finalizers: [], changed: false });
  });
});
