import { expect } from 'chai';
import { KubectlSetup } from './kubectl-setup.ts';
import {
  newWidget,
  widgetDefinition,
  widgetDefinitionName,
  widgetVersion,
} from '../support/definitions/widget-definition.ts';

const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
const subresources = { status: {}, scale };

describe('kubectl and CustomResourceDefinitions [slow]', () => {
  let kubectl: KubectlSetup;

  before(async function () {
    kubectl = await KubectlSetup.start(this);
  });

  after(() => kubectl?.stop());

  it('applies a definition, waits until it is Established, and creates objects of its kind [compat definitions]', async () => {
    const file = await kubectl.file('crd.json', widgetDefinition({ versions: [widgetVersion({ subresources })] }));
    const crd = `customresourcedefinition.apiextensions.k8s.io/${widgetDefinitionName}`;
    expect(await kubectl.succeeds('apply', '-f', file)).to.equal(`${crd} created\n`);
    expect(await kubectl.succeeds('wait', '--for=condition=Established', `crd/${widgetDefinitionName}`)).to.equal(
      `${crd} condition met\n`,
    );
    expect(await kubectl.succeeds('get', 'crd')).to.match(
      /^NAME +CREATED AT\nwidgets\.shop\.example\.com +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n$/,
    );
    const widget = await kubectl.file('widget.json', newWidget('a'));
    expect(await kubectl.succeeds('apply', '-f', widget)).to.equal('widget.shop.example.com/a created\n');
    expect(await kubectl.succeeds('get', 'wd')).to.equal('NAME   SIZE\na      3\n');
    expect(await kubectl.succeeds('get', 'widgets', '--field-selector', 'spec.color=red', '-o', 'name')).to.equal(
      'widget.shop.example.com/a\n',
    );
  });

  it('explains the fields of a defined kind, and refuses objects with unknown fields [compat definitions, explain]', async () => {
    expect(await kubectl.succeeds('explain', 'widget.spec.size')).to.contain('FIELD: size <integer>');
    const unknown = await kubectl.file('unknown.json', newWidget('b', { sise: 3 }));
    expect(await kubectl.fails('apply', '-f', unknown)).to.contain('unknown field "spec.sise"');
  });

  it('applies a changed definition [compat definitions]', async () => {
    const additionalPrinterColumns = [{ name: 'Color', type: 'string', jsonPath: '.spec.color' }];
    const changed = widgetDefinition({ versions: [widgetVersion({ subresources, additionalPrinterColumns })] });
    expect(await kubectl.succeeds('apply', '-f', await kubectl.file('crd.json', changed))).to.contain('configured');
    await kubectl.watch('get', 'wd', '-w')(/COLOR\na +red\n/);
  });

  it('scales objects of a defined kind [compat scale]', async () => {
    await kubectl.succeeds('scale', 'widget', 'a', '--replicas=3');
    expect(await kubectl.succeeds('get', 'widget', 'a', '-o', 'jsonpath={.spec.replicas}')).to.equal('3');
    const args = ['scale', 'widget', 'a', '--replicas=2', '--current-replicas=3'];
    expect(await kubectl.succeeds(...args)).to.equal('widget.shop.example.com/a scaled\n');
    const patch = ['patch', 'widget', 'a', '--subresource=scale', '--type=merge', '-p', '{"spec":{"replicas":4}}'];
    expect(await kubectl.succeeds(...patch)).to.equal('scale.autoscaling/a patched\n');
    expect(
      await kubectl.succeeds('get', 'widget', 'a', '--subresource=scale', '-o', 'jsonpath={.spec.replicas}'),
    ).to.equal('4');
  });

  it('deletes a definition with its objects [compat definitions]', async () => {
    expect(await kubectl.succeeds('delete', 'crd', widgetDefinitionName)).to.contain('deleted');
    // kubectl still sends the request, because it caches discovery for some minutes.
    expect(await kubectl.fails('get', 'widgets')).to.contain('the server could not find the requested resource');
  });
});
