import { expect } from 'chai';
import { KubectlSetup } from '../support/kubectl-setup.ts';
import { newWidget, widgetDefinition, widgetDefinitionName, widgetVersion } from '../support/widget-definition.ts';

const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
const subresources = { status: {}, scale };

describe('kubectl and CustomResourceDefinitions (skipped without kubectl, unless CI is set)', () => {
  let kubectl: KubectlSetup;

  before(async function () {
    kubectl = await KubectlSetup.start(this);
  });

  after(() => kubectl?.stop());

  const succeeds = async (...args: readonly string[]): Promise<string> => {
    const { exit, stdout, stderr } = await kubectl.run(...args);
    expect([exit, stderr], stdout).to.deep.equal([0, '']);
    return stdout;
  };

  it('applies a definition, waits for it, and has its objects from then on', async () => {
    const file = await kubectl.file('crd.json', widgetDefinition({ versions: [widgetVersion({ subresources })] }));
    const crd = `customresourcedefinition.apiextensions.k8s.io/${widgetDefinitionName}`;
    expect(await succeeds('apply', '-f', file)).to.equal(`${crd} created\n`);
    expect(await succeeds('wait', '--for=condition=Established', `crd/${widgetDefinitionName}`)).to.equal(
      `${crd} condition met\n`,
    );
    expect(await succeeds('get', 'crd')).to.match(
      /^NAME +CREATED AT\nwidgets\.shop\.example\.com +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n$/,
    );
    const widget = await kubectl.file('widget.json', newWidget('a'));
    expect(await succeeds('apply', '-f', widget)).to.equal('widget.shop.example.com/a created\n');
    expect(await succeeds('get', 'wd')).to.equal('NAME   SIZE\na      3\n');
    expect(await succeeds('get', 'widgets', '--field-selector', 'spec.color=red', '-o', 'name')).to.equal(
      'widget.shop.example.com/a\n',
    );
  });

  it('explains its objects, and refuses what its schema does not know', async () => {
    expect(await succeeds('explain', 'widget.spec.size')).to.contain('FIELD: size <integer>');
    const unknown = await kubectl.file('unknown.json', newWidget('b', { sise: 3 }));
    const { exit, stderr } = await kubectl.run('apply', '-f', unknown);
    expect(exit).to.equal(1);
    expect(stderr).to.contain('unknown field "spec.sise"');
  });

  it('applies a changed definition', async () => {
    const additionalPrinterColumns = [{ name: 'Color', type: 'string', jsonPath: '.spec.color' }];
    const changed = widgetDefinition({ versions: [widgetVersion({ subresources, additionalPrinterColumns })] });
    expect(await succeeds('apply', '-f', await kubectl.file('crd.json', changed))).to.contain('configured');
    await kubectl.watch('get', 'wd', '-w')(/COLOR\na +red\n/);
  });

  it('scales its objects', async () => {
    await succeeds('scale', 'widget', 'a', '--replicas=3');
    expect(await succeeds('get', 'widget', 'a', '-o', 'jsonpath={.spec.replicas}')).to.equal('3');
    const args = ['scale', 'widget', 'a', '--replicas=2', '--current-replicas=3'];
    expect(await succeeds(...args)).to.equal('widget.shop.example.com/a scaled\n');
    const patch = ['patch', 'widget', 'a', '--subresource=scale', '--type=merge', '-p', '{"spec":{"replicas":4}}'];
    expect(await succeeds(...patch)).to.equal('scale.autoscaling/a patched\n');
    expect(await succeeds('get', 'widget', 'a', '--subresource=scale', '-o', 'jsonpath={.spec.replicas}')).to.equal(
      '4',
    );
  });

  it('deletes a definition, and its objects with it', async () => {
    expect(await succeeds('delete', 'crd', widgetDefinitionName)).to.contain('deleted');
    // kubectl remembers for some minutes what it has discovered.
    const { exit, stderr } = await kubectl.run('get', 'widgets');
    expect(exit).to.equal(1);
    expect(stderr).to.contain('the server could not find the requested resource');
  });
});
