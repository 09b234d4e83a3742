import { expect } from 'chai';
import { gadget, gadgetsV2, newGadgetV1, newGadgetV2 } from '../support/models/gadget-versions.ts';
import { KubectlSetup } from './kubectl-setup.ts';

const warning = 'Warning: shop.example.com/v1 Gadget is deprecated; use shop.example.com/v2 Gadget\n';

describe('kubectl and kinds in several versions [slow]', () => {
  let kubectl: KubectlSetup;

  before(async function () {
    kubectl = await KubectlSetup.start(this);
    const { server } = kubectl;
    server.api.schemeManager.register(gadget);
    await server.api.whenReady(gadget);
    await server.create(gadgetsV2, newGadgetV2('a'));
  });

  after(() => kubectl?.stop());

  const prints = async (...args: readonly string[]): Promise<readonly [stdout: string, stderr: string]> => {
    const { exit, stdout, stderr } = await kubectl.run(...args);
    expect(exit, stderr).to.equal(0);
    return [stdout, stderr];
  };

  it('api-versions lists each version [compat versions]', async () => {
    const [stdout] = await prints('api-versions');
    expect(stdout.split('\n')).to.include.members(['shop.example.com/v1', 'shop.example.com/v2']);
  });

  it('get shows the preferred or the named version, with its columns and its warning [compat versions]', async () => {
    expect(await prints('get', 'gadgets')).to.deep.equal(['NAME   SIZE\na      3\n', '']);
    expect(await prints('get', 'gadgets.v1.shop.example.com')).to.deep.equal(['NAME   EXTENT\na      3 mm\n', warning]);
    expect(
      await prints('get', 'gadgets.v1.shop.example.com/a', '-o', 'jsonpath={.apiVersion} {.spec.extent}'),
    ).to.deep.equal(['shop.example.com/v1 3 mm', warning]);
  });

  it('explain shows the fields of the named version [compat versions]', async () => {
    expect((await prints('explain', 'gadgets.spec'))[0]).to.match(/size\t<integer>/);
    const [stdout] = await prints('explain', 'gadgets.spec', '--api-version=shop.example.com/v1');
    expect(stdout)
      .to.match(/VERSION: +v1\n/)
      .and.to.match(/extent\t<string>/);
  });

  it('apply, patch, scale and delete work in each version [compat versions]', async () => {
    const v1 = await kubectl.file('v1.json', newGadgetV1('b', { extent: '9 cm' }));
    expect((await prints('apply', '-f', v1))[0]).to.equal('gadget.shop.example.com/b created\n');
    expect((await prints('apply', '-f', v1))[0]).to.equal('gadget.shop.example.com/b unchanged\n');
    const v2 = await kubectl.file('v2.json', newGadgetV2('b', { size: 8, unit: 'cm' }));
    expect((await prints('apply', '--server-side', '--force-conflicts', '-f', v2))[0]).to.contain('serverside-applied');
    await prints('patch', 'gadgets.v1.shop.example.com', 'b', '--type=merge', '-p', '{"spec":{"colour":"blue"}}');
    await prints('scale', 'gadgets.v1.shop.example.com', 'b', '--replicas=2');
    const [spec] = await prints('get', 'gadgets', 'b', '-o', 'jsonpath={.spec.size} {.spec.replicas}');
    expect(spec).to.equal('8 2');
    expect((await prints('delete', 'gadgets.v1.shop.example.com', 'b'))[0]).to.equal(
      'gadget.shop.example.com "b" deleted\n',
    );
  });
});
