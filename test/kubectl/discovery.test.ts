import { expect } from 'chai';
import { KubectlSetup } from './kubectl-setup.ts';

describe('kubectl about the server [slow]', () => {
  let kubectl: KubectlSetup;

  before(async function () {
    kubectl = await KubectlSetup.start(this);
  });

  after(() => kubectl?.stop());

  it('cluster-info shows the address of the server [compat version]', async () => {
    const { exit, stdout, stderr } = await kubectl.run('cluster-info');
    expect([exit, stderr]).to.deep.equal([0, '']);
    // eslint-disable-next-line no-control-regex -- kubectl colours the line
    expect(stdout.replace(/\u001b\[[\d;]*m/g, '')).to.match(
      /^Kubernetes control plane is running at http:\/\/127\.0\.0\.1:\d+\n/,
    );
  });

  it('api-resources lists all kinds [compat discovery]', async () => {
    const { exit, stdout } = await kubectl.run('api-resources', '--sort-by=name');
    expect(exit).to.equal(0);
    expect(stdout.split('\n')).to.deep.equal([
      'NAME                                SHORTNAMES   APIVERSION                                NAMESPACED   KIND',
      'apiservices                                      apiregistration.k8s.io/v1                 false        APIService',
      'clusterrolebindings                              rbac.authorization.k8s.io/v1              false        ClusterRoleBinding',
      'clusterroles                                     rbac.authorization.k8s.io/v1              false        ClusterRole',
      'configmaps                          cm           v1                                        true         ConfigMap',
      'controllers                                      controllers.homeostat.internal/v1alpha1   false        Controller',
      'customresourcedefinitions           crd,crds     apiextensions.k8s.io/v1                   false        CustomResourceDefinition',
      'events                              ev           v1                                        true         Event',
      'events                              ev           events.k8s.io/v1                          true         Event',
      'externaleffects                                  controllers.homeostat.internal/v1alpha1   true         ExternalEffect',
      'leases                                           coordination.k8s.io/v1                    true         Lease',
      'letters                                          people.example.com/v1alpha1               true         Letter',
      'localsubjectaccessreviews                        authorization.k8s.io/v1                   true         LocalSubjectAccessReview',
      'machines                                         people.example.com/v1alpha1               false        Machine',
      'mutatingwebhookconfigurations                    admissionregistration.k8s.io/v1           false        MutatingWebhookConfiguration',
      'namespaces                          ns           v1                                        false        Namespace',
      'persons                             ps           demo.example.com/v1alpha1                 false        Person',
      'persons                                          people.example.com/v1alpha1               false        Person',
      'resourcequotas                      quota        v1                                        true         ResourceQuota',
      'rolebindings                                     rbac.authorization.k8s.io/v1              true         RoleBinding',
      'roles                                            rbac.authorization.k8s.io/v1              true         Role',
      'runs                                             controllers.homeostat.internal/v1alpha1   true         Run',
      'secrets                                          v1                                        true         Secret',
      'selfsubjectaccessreviews                         authorization.k8s.io/v1                   false        SelfSubjectAccessReview',
      'selfsubjectreviews                               authentication.k8s.io/v1                  false        SelfSubjectReview',
      'selfsubjectrulesreviews                          authorization.k8s.io/v1                   false        SelfSubjectRulesReview',
      'serviceaccounts                     sa           v1                                        true         ServiceAccount',
      'services                            svc          v1                                        true         Service',
      'subjectaccessreviews                             authorization.k8s.io/v1                   false        SubjectAccessReview',
      'tokenreviews                                     authentication.k8s.io/v1                  false        TokenReview',
      'users                                            iam.homeostat.internal/v1alpha1           false        User',
      'validatingadmissionpolicies                      admissionregistration.k8s.io/v1           false        ValidatingAdmissionPolicy',
      'validatingadmissionpolicybindings                admissionregistration.k8s.io/v1           false        ValidatingAdmissionPolicyBinding',
      'validatingwebhookconfigurations                  admissionregistration.k8s.io/v1           false        ValidatingWebhookConfiguration',
      '',
    ]);
    const wide = await kubectl.run('api-resources', '--api-group=demo.example.com', '-o', 'wide', '--no-headers');
    expect(wide.stdout).to.match(/Person +create,delete,deletecollection,get,list,patch,update,watch +all,people\n/);
    const named = await kubectl.run('api-resources', '--categories=people', '-o', 'name');
    expect(named.stdout).to.equal('persons.demo.example.com\n');
  });

  it('api-versions lists all group versions [compat discovery]', async () => {
    const printed = await kubectl.run('api-versions');
    expect(printed).to.deep.equal({
      exit: 0,
      stdout: [
        'admissionregistration.k8s.io/v1',
        'apiextensions.k8s.io/v1',
        'apiregistration.k8s.io/v1',
        'authentication.k8s.io/v1',
        'authorization.k8s.io/v1',
        'controllers.homeostat.internal/v1alpha1',
        'coordination.k8s.io/v1',
        'demo.example.com/v1alpha1',
        'events.k8s.io/v1',
        'iam.homeostat.internal/v1alpha1',
        'people.example.com/v1alpha1',
        'rbac.authorization.k8s.io/v1',
        'v1\n',
      ].join('\n'),
      stderr: '',
    });
  });

  it('version shows the version of the server [compat version]', async () => {
    const { exit, stdout } = await kubectl.run('version', '-o', 'json');
    expect(exit).to.equal(0);
    const { serverVersion } = JSON.parse(stdout) as { serverVersion: object };
    expect(serverVersion).to.deep.equal((await kubectl.server.get('/version')).body);
    const { gitVersion } = serverVersion as { gitVersion: string };
    expect((await kubectl.succeeds('version')).split('\n')).to.include(`Server Version: ${gitVersion}`);
  });

  it('explain shows the description of a kind [compat explain]', async () => {
    const { exit, stdout } = await kubectl.run('explain', 'persons', '--api-version=demo.example.com/v1alpha1');
    expect(exit).to.equal(0);
    expect(stdout).to.match(/^GROUP: +demo.example.com\nKIND: +Person\nVERSION: +v1alpha1\n/);
    expect(stdout).to.contain('Person is a demo kind.').and.contain('spec\t<PersonSpec> -required-');
  });

  it('explain shows a nested field of a kind that refers to itself [compat explain]', async () => {
    const args = ['explain', '--api-version=demo.example.com/v1alpha1'];
    const { exit, stdout } = await kubectl.run(...args, 'persons.spec.otherPerson.spec.name');
    expect(exit).to.equal(0);
    expect(stdout).to.contain('FIELD: name <string>').and.contain('Display name');
    const gender = await kubectl.run(...args, 'ps.spec.gender');
    expect(gender.stdout).to.match(/ENUM:\n +MALE\n +FEMALE/);
    const missing = await kubectl.run(...args, 'persons.spec.nothing');
    expect([missing.exit, missing.stderr]).to.deep.equal([1, 'error: field "nothing" does not exist\n']);
  });

  it('explain --recursive ends for a kind that refers to itself [compat explain]', async () => {
    const { exit, stdout } = await kubectl.run('explain', 'ps', '--recursive');
    expect(exit).to.equal(0);
    expect(stdout).to.contain('  metadata\t<ObjectMeta>').and.contain('    otherPerson\t<Person>');
  });

  it('describe shows the fields of an object [compat describe]', async () => {
    const { exit, stdout } = await kubectl.run('describe', 'ps', 'ann');
    expect(exit).to.equal(0);
    expect(stdout).to.match(/^Name: +ann\nNamespace:\nLabels: +team=red\nAnnotations: +<none>\nAPI Version: +demo/);
    expect(stdout).to.match(/Spec:\n +Age: +30\n +Gender: +FEMALE\n +Name: +ANN\n/);
    const all = await kubectl.run('describe', 'ps');
    expect(all.stdout.match(/^Name: +\w+/gm)).to.have.length(2);
  });
});
