import { expect } from 'chai';
import { KubectlSetup } from './kubectl-setup.ts';
import {
  newWidget,
  widgetDefinition,
  widgetDefinitionName,
  widgetVersion,
} from '../support/definitions/widget-definition.ts';

const definition = (rule: string): object => {
  const spec = {
    type: 'object',
    properties: { size: { type: 'integer' }, least: { type: 'integer' } },
    'x-kubernetes-validations': [{ rule, message: 'size must be at least least' }],
  };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
  return widgetDefinition({ versions: [widgetVersion({ schema, selectableFields: [] })] });
};

describe('kubectl and rules in CEL [slow] [compat validations]', () => {
  let kubectl: KubectlSetup;

  before(async function () {
    kubectl = await KubectlSetup.start(this);
  });

  after(() => kubectl?.stop());

  it('shows the position of a mistake in a rule', async () => {
    const file = await kubectl.file('broken.json', definition('self.sise >= self.least'));
    const shown = await kubectl.fails('apply', '-f', file);
    expect(shown).to.contain('spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule');
    expect(shown).to.contain("ERROR: <input>:1:5: undefined field 'sise'");
  });

  it('applies a definition with rules, and shows the message of a refused object', async () => {
    await kubectl.succeeds('apply', '-f', await kubectl.file('crd.json', definition('self.size >= self.least')));
    await kubectl.succeeds('wait', '--for=condition=Established', `crd/${widgetDefinitionName}`);
    const refused = await kubectl.file('refused.json', newWidget('a', { size: 1, least: 2 }));
    expect(await kubectl.fails('apply', '-f', refused)).to.equal(
      'The Widget "a" is invalid: spec: Invalid value: "object": size must be at least least\n',
    );
    const accepted = await kubectl.file('accepted.json', newWidget('a', { size: 2, least: 2 }));
    expect(await kubectl.succeeds('apply', '-f', accepted)).to.equal('widget.shop.example.com/a created\n');
    const patch = ['patch', 'widget', 'a', '--type=merge', '-p', '{"spec":{"least":3}}'];
    expect(await kubectl.fails(...patch)).to.contain('size must be at least least');
  });
});
