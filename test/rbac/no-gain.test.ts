import { expect } from 'chai';
import fc from 'fast-check';
import { createNamespaces } from '../support/models/namespaces.ts';
import { TestServer } from '../support/servers/test-server.ts';

const group = 'rbac.authorization.k8s.io';
const rbac = `/apis/${group}/v1`;
const asAnn = { headers: { 'impersonate-user': 'ann' } };
const subjects = [{ kind: 'User', name: 'ann' }];

type Scope = 'cluster' | 'home';

const rolePaths = { cluster: `${rbac}/clusterroles`, home: `${rbac}/namespaces/home/roles` } as const;
const bindingPaths = { cluster: `${rbac}/clusterrolebindings`, home: `${rbac}/namespaces/home/rolebindings` } as const;

/** A permission: a verb on a resource of the core group. */
type Permission = `${'get' | 'list'} ${'events' | 'secrets'}`;

const permissions: readonly Permission[] = ['get events', 'list events', 'get secrets', 'list secrets'];

/** The scope and the name of a role. */
interface RoleName {
  readonly scope: Scope;
  readonly name: string;
}

type Step =
  | { readonly do: 'create role' | 'update role'; readonly role: RoleName; readonly grants: readonly Permission[] }
  | { readonly do: 'bind'; readonly scope: Scope; readonly name: string; readonly role: RoleName }
  | { readonly do: 'delete role'; readonly role: RoleName }
  | { readonly do: 'unbind'; readonly scope: Scope; readonly name: string };

const scope = fc.constantFrom<Scope>('cluster', 'home');
const granted = fc.subarray([...permissions]);
const ownRole = fc.record({ scope, name: fc.constantFrom('a', 'b') });
const anyRole = fc.oneof(
  { weight: 4, arbitrary: ownRole },
  fc.constantFrom<RoleName>({ scope: 'cluster', name: 'strong' }, { scope: 'home', name: 'strong' }),
);
const name = fc.constantFrom('a', 'b');

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constantFrom('create role' as const, 'update role' as const), role: ownRole, grants: granted }),
    fc.record({ do: fc.constant('bind' as const), scope, name, role: anyRole }),
    fc.record({ do: fc.constant('delete role' as const), role: ownRole }),
    fc.record({ do: fc.constant('unbind' as const), scope, name }),
  ),
  { maxLength: 12 },
);

function ruleOf(permission: Permission): object {
  const [verb, resource] = permission.split(' ');
  return { verbs: [verb], apiGroups: [''], resources: [resource] };
}

/** A simple model for the expected results. It has sets of permissions instead of rules. */
class Model {
  readonly #held: Readonly<Record<Scope, ReadonlySet<Permission>>>;
  readonly #roles = new Map<string, readonly Permission[]>();
  readonly #bindings = new Set<string>();

  constructor(inCluster: readonly Permission[], inHome: readonly Permission[]) {
    this.#held = { cluster: new Set(inCluster), home: new Set([...inCluster, ...inHome]) };
    this.#roles.set('cluster/strong', permissions).set('home/strong', permissions);
  }

  holds(where: Scope, permission: Permission): boolean {
    return this.#held[where].has(permission);
  }

  /**
   * Changes the model as a request should change the server. Returns the status that the server should respond with.
   */
  take(step: Step): number {
    if (step.do === 'bind') return this.#bind(step.scope, step.name, step.role);
    if (step.do === 'unbind') return this.#bindings.delete(`${step.scope}/${step.name}`) ? 200 : 404;
    const { role } = step;
    const key = `${role.scope}/${role.name}`;
    if (step.do === 'delete role') return this.#roles.delete(key) ? 200 : 404;
    const isThere = this.#roles.has(key);
    if (step.do === 'update role' && !isThere) return 404;
    if (!this.#mayGrant(role.scope, step.grants)) return 403;
    if (step.do === 'create role' && isThere) return 409;
    this.#roles.set(key, step.grants);
    return step.do === 'create role' ? 201 : 200;
  }

  #bind(where: Scope, binding: string, role: RoleName): number {
    if (where === 'cluster' && role.scope === 'home') return 422;
    const grants = this.#roles.get(`${role.scope}/${role.name}`);
    if (grants === undefined) return 404;
    if (!this.#mayGrant(where, grants)) return 403;
    const key = `${where}/${binding}`;
    if (this.#bindings.has(key)) return 409;
    this.#bindings.add(key);
    return 201;
  }

  #mayGrant(where: Scope, grants: readonly Permission[]): boolean {
    return grants.every((permission) => this.holds(where, permission));
  }
}

describe('a user who writes roles and bindings', () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start();
    await createNamespaces(server.api.client, ['home']);
    const all = permissions.map(ruleOf);
    for (const path of Object.values(rolePaths)) {
      await server.create(path, { metadata: { name: 'strong' }, rules: all });
    }
    const writing = {
      verbs: ['*'],
      apiGroups: [group],
      resources: ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'],
    };
    // The user may write roles and bindings, but has neither of the verbs escalate and bind.
    const rules = [{ ...writing, verbs: ['get', 'create', 'update', 'patch', 'delete'] }];
    await server.create(rolePaths.cluster, { metadata: { name: 'writer' }, rules });
    const roleRef = { kind: 'ClusterRole', name: 'writer' };
    await server.create(bindingPaths.cluster, { metadata: { name: 'writer' }, roleRef, subjects });
  });
  after(() => server.stop());

  /** Deletes the roles and bindings of the previous run, and grants ann the initial permissions of this run. */
  async function begin(inCluster: readonly Permission[], inHome: readonly Permission[]): Promise<void> {
    const given = { cluster: inCluster, home: inHome } as const;
    for (const where of ['cluster', 'home'] as const) {
      for (const path of [rolePaths[where], bindingPaths[where]]) {
        for (const each of ['a', 'b', 'given']) await server.delete(`${path}/${each}`);
      }
      await server.create(rolePaths[where], { metadata: { name: 'given' }, rules: given[where].map(ruleOf) });
      const roleRef = { kind: where === 'home' ? 'Role' : 'ClusterRole', name: 'given' };
      await server.create(bindingPaths[where], { metadata: { name: 'given' }, roleRef, subjects });
    }
  }

  async function send(step: Step): Promise<number> {
    if (step.do === 'bind') {
      const roleRef = { kind: step.role.scope === 'home' ? 'Role' : 'ClusterRole', name: step.role.name };
      const body = { metadata: { name: step.name }, roleRef, subjects };
      return (await server.post(bindingPaths[step.scope], body, asAnn)).status;
    }
    if (step.do === 'unbind') return (await server.delete(`${bindingPaths[step.scope]}/${step.name}`, asAnn)).status;
    const path = rolePaths[step.role.scope];
    const at = `${path}/${step.role.name}`;
    if (step.do === 'delete role') return (await server.delete(at, asAnn)).status;
    const body = { metadata: { name: step.role.name }, rules: step.grants.map(ruleOf) };
    return (await (step.do === 'create role' ? server.post(path, body, asAnn) : server.put(at, body, asAnn))).status;
  }

  async function may(where: Scope, permission: string): Promise<boolean> {
    const [verb, resource] = permission.split(' ');
    const resourceAttributes = { verb, resource, group: '', ...(where === 'home' ? { namespace: 'home' } : {}) };
    const spec = { user: 'ann', groups: [], resourceAttributes };
    return (await server.create('/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec })).status
      .allowed as boolean;
  }

  for (const [numRuns, tier] of [
    [3, ''],
    [60, ' [slow]'],
  ] as const)
    it(`never gains a permission by any sequence of writes${tier}`, async function property() {
      this.timeout(120_000);
      await fc.assert(
        fc.asyncProperty(granted, granted, steps, async (inCluster, inHome, sequence) => {
          await begin(inCluster, inHome);
          const model = new Model(inCluster, inHome);
          for (const step of sequence) expect(await send(step), JSON.stringify(step)).to.equal(model.take(step));
          for (const where of ['cluster', 'home'] as const) {
            for (const permission of permissions)
              expect(await may(where, permission), `${permission} in ${where}`).to.equal(
                model.holds(where, permission),
              );
            expect(await may(where, 'delete secrets')).to.equal(false);
          }
        }),
        { numRuns },
      );
    });
});
