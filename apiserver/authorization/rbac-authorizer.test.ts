import { expect } from 'chai';
import type { PolicyRule } from '../builtin/objects/rbac-objects.ts';
import type { ResourceAttributes } from './attributes.ts';
import { RbacAuthorizer } from './rbac-authorizer.ts';

const apiGroup = 'rbac.authorization.k8s.io';
const ann = { username: 'ann', groups: ['staff'] };
const asked: ResourceAttributes = {
  isResource: true,
  verb: 'get',
  group: '',
  version: 'v1',
  resource: 'secrets',
  namespace: 'home',
  name: 'one',
};

/** Returns an authorizer in which the user ann has a role in `namespace`; in the whole cluster if it is undefined. */
function authorizerWith(rule: Partial<PolicyRule>, namespace?: string): RbacAuthorizer {
  const authorizer = new RbacAuthorizer();
  const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['secrets'], ...rule }];
  authorizer.setRole({ name: 'role', namespace: undefined, labels: {}, rules, aggregates: undefined });
  const roleRef = { apiGroup, kind: 'ClusterRole', name: 'role' };
  const subjects = [{ kind: 'User', apiGroup, name: 'ann' }];
  authorizer.setBinding({ name: 'binding', namespace, roleRef, subjects });
  return authorizer;
}

describe('an RBAC decision', () => {
  const others: readonly Partial<ResourceAttributes>[] = [
    { verb: 'delete' },
    { group: 'apps' },
    { resource: 'configmaps' },
    { subresource: 'status' },
    { namespace: 'work' },
    { namespace: undefined },
  ];
  for (const other of others) {
    it(`is not reused for a request of the same user in which ${Object.keys(other).join()} is ${Object.values(other).join()}`, () => {
      const authorizer = authorizerWith({}, 'home');
      expect(authorizer.decide(ann, asked).allowed).to.equal(true);
      expect(authorizer.decide(ann, { ...asked, ...other }).allowed).to.equal(false);
      expect(authorizer.decide(ann, { ...asked, name: 'two' }).allowed).to.equal(true);
    });
  }

  it('is not reused for another object when the rule of the role has `resourceNames`', () => {
    const authorizer = authorizerWith({ resourceNames: ['one'] });
    expect(authorizer.decide(ann, asked).allowed).to.equal(true);
    expect(authorizer.decide(ann, { ...asked, name: 'two' }).allowed).to.equal(false);
    expect(authorizer.decide(ann, { ...asked, name: undefined }).allowed).to.equal(false);
  });

  it('allows the creation of a subresource by a rule with `resourceNames`, but not the creation of an object', () => {
    const authorizer = authorizerWith({
      verbs: ['create'],
      resources: ['serviceaccounts', 'serviceaccounts/token'],
      resourceNames: ['one'],
    });
    const created = { ...asked, verb: 'create', resource: 'serviceaccounts' };
    expect(authorizer.decide(ann, { ...created, subresource: 'token' }).allowed).to.equal(true);
    expect(authorizer.decide(ann, { ...created, subresource: 'token', name: 'two' }).allowed).to.equal(false);
    expect(authorizer.decide(ann, created).allowed).to.equal(false);
  });

  it('is not reused for a user with the same name and other groups', () => {
    const authorizer = authorizerWith({});
    const subjects = [{ kind: 'Group', apiGroup, name: 'staff' }];
    authorizer.setBinding({
      name: 'binding',
      namespace: undefined,
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'role' },
      subjects,
    });
    expect(authorizer.decide(ann, asked).allowed).to.equal(true);
    expect(authorizer.decide({ ...ann, groups: [] }, asked).allowed).to.equal(false);
  });

  const changes: Readonly<Record<string, (authorizer: RbacAuthorizer) => void>> = {
    'the binding is deleted': (authorizer) => authorizer.removeBinding({ name: 'binding', namespace: undefined }),
    'the role is deleted': (authorizer) => authorizer.removeRole({ name: 'role', namespace: undefined }),
    'the rules of the role change': (authorizer) =>
      authorizer.setRole({ name: 'role', namespace: undefined, labels: {}, rules: [], aggregates: undefined }),
    'the subjects of the binding change': (authorizer) =>
      authorizer.setBinding({
        name: 'binding',
        namespace: undefined,
        roleRef: { apiGroup, kind: 'ClusterRole', name: 'role' },
        subjects: [],
      }),
  };
  for (const [what, change] of Object.entries(changes)) {
    it(`changes to a refusal as soon as ${what}`, () => {
      const authorizer = authorizerWith({});
      expect(authorizer.decide(ann, asked).allowed).to.equal(true);
      change(authorizer);
      expect(authorizer.decide(ann, asked).allowed).to.equal(false);
    });
  }
});
