import { expect } from 'chai';
import { KubectlSetup } from './kubectl-setup.ts';

describe('kubectl and roles [slow]', () => {
  let kubectl: KubectlSetup;

  before(async function () {
    kubectl = await KubectlSetup.start(this);
  });

  after(() => kubectl?.stop());

  it('create clusterrole and clusterrolebinding, get -o wide, auth can-i --as and auth reconcile work [compat rbac]', async () => {
    const group = 'rbac.authorization.k8s.io';
    const created = await kubectl.succeeds('create', 'clusterrole', 'leases', '--verb=get', '--resource=leases');
    expect(created).to.equal(`clusterrole.${group}/leases created\n`);
    await kubectl.succeeds(
      'create',
      'clusterrolebinding',
      'ann',
      '--clusterrole=leases',
      '--user=ann',
      '--group=staff',
    );
    expect(await kubectl.succeeds('get', 'clusterrolebinding', 'ann', '-o', 'wide')).to.match(
      /^NAME +ROLE +AGE +USERS +GROUPS +SERVICEACCOUNTS\nann +ClusterRole\/leases +\S+ +ann +staff *\n$/,
    );
    const canI = async (verb: string): Promise<string> =>
      (await kubectl.run('auth', 'can-i', verb, 'leases.coordination.k8s.io', '--as', 'ann')).stdout;
    expect([await canI('get'), await canI('list')]).to.deep.equal(['yes\n', 'no\n']);
    expect(await kubectl.succeeds('auth', 'can-i', '--list', '--as', 'ann')).to.match(
      /^leases\.coordination\.k8s\.io +\[\] +\[\] +\[get\]$/m,
    );
    const rules = [{ verbs: ['list'], apiGroups: ['coordination.k8s.io'], resources: ['leases'] }];
    const role = { apiVersion: `${group}/v1`, kind: 'ClusterRole', metadata: { name: 'leases' }, rules };
    const file = await kubectl.file('role.json', role);
    const { exit, stdout } = await kubectl.run('auth', 'reconcile', '-f', file);
    expect([exit, stdout]).to.deep.equal([0, `clusterrole.${group}/leases reconciled\n`]);
    expect([await canI('get'), await canI('list')]).to.deep.equal(['yes\n', 'yes\n']);
  });
});
