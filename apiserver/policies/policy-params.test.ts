import { expect } from 'chai';
import type { ParamRef } from '../builtin/objects/policy-objects.ts';
import { createPerson, createPersonCache, personEntry } from '../index/person.fixture.ts';
import type { KindCache } from '../index/kind-cache.ts';
import type { Entry } from '../index/entry.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { paramsOf } from './policy-params.ts';

/** Resolves with the names of the parameters that a binding selects from the objects of a cache. */
async function namesOf(cache: KindCache, paramRef: ParamRef, namespace: string): Promise<readonly unknown[]> {
  const resource = { model: { scope: 'Namespaced' }, cache, show: (entry: Entry) => entry };
  const table = { get: () => resource } as unknown as ResourceTable;
  const params = await paramsOf(table, { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' }, paramRef, namespace });
  return params.map((object) => object?.metadata.name);
}

async function messageOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(String, (error: unknown) => (error as Error).message);
}

describe('the parameters of an admission policy, when the object home/limits cannot be read', () => {
  let cache: KindCache;
  const unreadable = 'the parameter object "home/limits" cannot be read: correct or delete it';

  beforeEach(() => {
    cache = createPersonCache('Namespaced');
    Object.defineProperty(cache, 'broken', { value: new Map([['home/limits', {}]]) });
  });

  it('cause an error if a binding names the object', async () => {
    const names = namesOf(cache, { name: 'limits', parameterNotFoundAction: 'Allow' }, 'home');
    expect(await messageOf(names)).to.equal(unreadable);
  });

  it('cause an error if a binding selects its parameters in the namespace home, because its selector might match home/limits', async () => {
    const names = namesOf(cache, { selector: {}, parameterNotFoundAction: 'Allow' }, 'home');
    expect(await messageOf(names)).to.equal(unreadable);
  });

  it('are an empty list, without an error, if a binding names a different object that does not exist, or selects from an empty namespace', async () => {
    expect(await namesOf(cache, { name: 'other', parameterNotFoundAction: 'Allow' }, 'home')).to.deep.equal([]);
    expect(await namesOf(cache, { selector: {}, parameterNotFoundAction: 'Allow' }, 'work')).to.deep.equal([]);
  });
});

describe('the parameters that the selector of a policy binding matches', () => {
  it('are found by the index of labels, without a visit of all objects of the kind', async () => {
    const cache = createPersonCache('Namespaced');
    for (let number = 0; number < 2100; number += 1) {
      const labels = { role: number % 1000 === 7 ? 'limits' : 'none' };
      const namespace = number < 1500 ? 'home' : 'work';
      cache.put(personEntry(cache, createPerson({ name: `p-${number}`, namespace, labels })));
    }
    cache.entries = () => expect.fail('all objects were visited');
    const paramRef = { selector: { matchLabels: { role: 'limits' } }, parameterNotFoundAction: 'Deny' } as const;
    expect(await namesOf(cache, paramRef, 'home')).to.have.members(['p-7', 'p-1007']);
  });
});
