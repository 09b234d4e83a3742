import { expect } from 'chai';
import type { ParamRef } from '../builtin/objects/policy-objects.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { paramsOf } from './policy-params.ts';

describe('the parameters of an admission policy, when the object home/limits cannot be read', () => {
  const cache = { broken: new Map([['home/limits', {}]]), get: () => undefined, entries: () => [] };
  const table = { get: () => ({ model: { scope: 'Namespaced' }, cache }) } as unknown as ResourceTable;

  const params = (paramRef: ParamRef, namespace: string): unknown =>
    paramsOf(table, { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' }, paramRef, namespace });
  const unreadable = 'the parameter object "home/limits" cannot be read: correct or delete it';

  it('are an error for a binding that names the object', () => {
    expect(() => params({ name: 'limits', parameterNotFoundAction: 'Allow' }, 'home')).to.throw(unreadable);
  });

  it('are an error for a binding that selects objects in the namespace home, since the labels of limits are unknown', () => {
    expect(() => params({ selector: {}, parameterNotFoundAction: 'Allow' }, 'home')).to.throw(unreadable);
  });

  it('are an empty list, without an error, for a binding with another name, or with a selector in another namespace', () => {
    expect(params({ name: 'other', parameterNotFoundAction: 'Allow' }, 'home')).to.deep.equal([]);
    expect(params({ selector: {}, parameterNotFoundAction: 'Allow' }, 'work')).to.deep.equal([]);
  });
});
