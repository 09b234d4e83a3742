import { expect } from 'chai';
import { KubectlSetup } from './kubectl-setup.ts';

const apiVersion = 'admissionregistration.k8s.io/v1';
const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] };
const policy = {
  apiVersion,
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'named' },
  spec: {
    matchConstraints: { resourceRules: [rule] },
    validations: [{ expression: "object.metadata.name.startsWith('app-')", message: 'must begin with app-' }],
  },
};
const binding = {
  apiVersion,
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name: 'named-everywhere' },
  spec: { policyName: 'named', validationActions: ['Deny'] },
};

describe('kubectl and admission policies [slow] [compat policies]', () => {
  let kubectl: KubectlSetup;

  before(async function () {
    kubectl = await KubectlSetup.start(this);
  });

  after(() => kubectl?.stop());

  it('applies a policy with its binding, and shows the reason when an object is refused', async () => {
    await kubectl.succeeds('apply', '-f', await kubectl.file('policy.json', policy));
    await kubectl.succeeds('apply', '-f', await kubectl.file('binding.json', binding));
    expect(await kubectl.succeeds('get', 'validatingadmissionpolicies')).to.match(
      /^NAME +VALIDATIONS +PARAMKIND +AGE\nnamed +1 +<unset> +\d+s\n$/,
    );
    expect(await kubectl.succeeds('get', 'validatingadmissionpolicybindings')).to.match(
      /^NAME +POLICYNAME +PARAMREF +AGE\nnamed-everywhere +named +<unset> +\d+s\n$/,
    );
    expect(await kubectl.fails('create', 'configmap', 'other')).to.contain(
      "ValidatingAdmissionPolicy 'named' with binding 'named-everywhere' denied request: must begin with app-",
    );
    expect(await kubectl.succeeds('create', 'configmap', 'app-one')).to.equal('configmap/app-one created\n');
    expect(await kubectl.succeeds('delete', 'validatingadmissionpolicy', 'named')).to.contain('deleted');
    expect(await kubectl.succeeds('create', 'configmap', 'other')).to.equal('configmap/other created\n');
  });
});
