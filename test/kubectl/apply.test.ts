import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { demoPersons, newDemoPerson } from '../support/models/demo-person.ts';
import { KubectlSetup } from './kubectl-setup.ts';

const ref = 'person.demo.example.com';

describe('kubectl apply --server-side and --prune [slow]', () => {
  let kubectl: KubectlSetup;

  before(async function () {
    kubectl = await KubectlSetup.start(this);
  });

  after(() => kubectl?.stop());

  function personFile(name: string, spec: object, metadata: object = {}): Promise<string> {
    return kubectl.file(`${name}.json`, newDemoPerson(name, spec, metadata));
  }

  /** Returns the managers and their operations in managedFields. */
  async function managers(name: string): Promise<readonly string[]> {
    const { managedFields } = (await kubectl.stored(name)).metadata as {
      managedFields: { manager: string; operation: string }[];
    };
    return managedFields.map(({ manager, operation }) => `${manager} ${operation}`).toSorted();
  }

  it('--server-side creates and changes an object, and removes fields that are no longer in the file [compat server-side-apply]', async () => {
    const applied = `${ref}/una serverside-applied\n`;
    expect(
      await kubectl.succeeds('apply', '--server-side', '-f', await personFile('una', { age: 1, gender: 'MALE' })),
    ).to.equal(applied);
    expect(await kubectl.succeeds('apply', '--server-side', '-f', await personFile('una', { age: 2 }))).to.equal(
      applied,
    );
    expect((await kubectl.stored('una')).spec).to.deep.equal({ name: 'UNA', age: 2 });
    expect(await managers('una')).to.deep.equal(['kubectl Apply']);
    const { resourceVersion } = (await kubectl.stored('una')).metadata;
    expect(await kubectl.succeeds('apply', '--server-side', '-f', await personFile('una', { age: 2 }))).to.equal(
      applied,
    );
    expect((await kubectl.stored('una')).metadata.resourceVersion).to.equal(resourceVersion);
  });

  it('--server-side names each field that conflicts with another manager, and --force-conflicts takes over these fields [compat server-side-apply]', async () => {
    await kubectl.succeeds('apply', '--server-side', '-f', await personFile('vic', { age: 1, gender: 'MALE' }));
    const file = await personFile('vic', { age: 2, gender: 'FEMALE' });
    const args = ['apply', '--server-side', '--field-manager=robot', '-f', file];
    const error = await kubectl.fails(...args);
    expect(error)
      .to.contain('Apply failed with 2 conflicts: conflicts with "kubectl"')
      .and.contain('- .spec.age\n- .spec.gender\n');
    expect((await kubectl.stored('vic')).spec.age).to.equal(1);
    expect(await kubectl.succeeds(...args, '--force-conflicts')).to.equal(`${ref}/vic serverside-applied\n`);
    expect((await kubectl.stored('vic')).spec).to.include({ age: 2, gender: 'FEMALE' });
    expect(await managers('vic')).to.deep.equal(['kubectl Apply', 'robot Apply']);
  });

  it('--server-side --dry-run=server stores nothing [compat server-side-apply, dry-run]', async () => {
    const file = await personFile('wes', { age: 1 });
    const args = ['apply', '--server-side', '--dry-run=server', '-f', file];
    expect(await kubectl.succeeds(...args)).to.equal(`${ref}/wes serverside-applied (server dry run)\n`);
    expect((await kubectl.stored('wes')).reason).to.equal('NotFound');
  });

  it('--server-side refuses objects that break the schema or have unknown fields [compat server-side-apply, validation]', async () => {
    const old = await kubectl.fails('apply', '--server-side', '-f', await personFile('old', { age: 151 }));
    expect(old).to.contain('Person "old" is invalid').and.contain('spec.age');
    const odd = await kubectl.fails('apply', '--server-side', '-f', await personFile('odd', { bogus: 1 }));
    expect(odd).to.contain('bogus');
  });

  it('--server-side takes over from a client-side apply, and then removes fields that are no longer in the file [compat server-side-apply, client-side-apply]', async () => {
    await kubectl.succeeds('apply', '-f', await personFile('xia', { age: 1, gender: 'MALE' }));
    expect(await managers('xia')).to.deep.equal(['kubectl-client-side-apply Update']);
    await kubectl.succeeds('apply', '--server-side', '-f', await personFile('xia', { age: 1, gender: 'MALE' }));
    expect((await managers('xia')).filter((manager) => manager.endsWith('Update'))).to.deep.equal([]);
    await kubectl.succeeds('apply', '--server-side', '-f', await personFile('xia', { age: 3 }));
    expect((await kubectl.stored('xia')).spec).to.deep.equal({ name: 'XIA', age: 3 });
  });

  it('--prune deletes only applied objects that match the selector and are not in the files [compat prune]', async () => {
    const folder = join(dirname(await personFile('any', {})), 'pruned');
    await mkdir(folder);
    const add = (name: string): Promise<void> =>
      writeFile(join(folder, `${name}.json`), JSON.stringify(newDemoPerson(name, {}, { labels: { app: 'shop' } })));
    await add('kept');
    await add('gone');
    // The first object matches the selector but was never applied. The second was applied but does not match the
    // selector.
    await kubectl.server.create(demoPersons, newDemoPerson('made', {}, { labels: { app: 'shop' } }));
    await kubectl.succeeds('apply', '-f', await personFile('other', {}, { labels: { app: 'bank' } }));
    const args = [
      'apply',
      '-f',
      folder,
      '-l',
      'app=shop',
      '--prune',
      '--prune-allowlist=demo.example.com/v1alpha1/Person',
    ];
    expect(await kubectl.succeeds(...args)).to.equal(`${ref}/gone created\n${ref}/kept created\n`);
    await rm(join(folder, 'gone.json'));
    expect(await kubectl.succeeds(...args, '--dry-run=server')).to.contain(`${ref}/gone pruned (server dry run)\n`);
    expect(await kubectl.succeeds(...args)).to.equal(`${ref}/kept unchanged\n${ref}/gone pruned\n`);
    expect((await kubectl.stored('gone')).reason).to.equal('NotFound');
    for (const name of ['kept', 'made', 'other']) expect((await kubectl.stored(name)).kind, name).to.equal('Person');
  });

  it('diff --server-side shows the changes of a server-side apply, and stores nothing [compat diff]', async () => {
    await kubectl.succeeds('apply', '--server-side', '-f', await personFile('yan', { age: 1 }));
    const before = await kubectl.stored('yan');
    expect(await kubectl.succeeds('diff', '--server-side', '-f', await personFile('yan', { age: 1 }))).to.equal('');
    const { exit, stdout, stderr } = await kubectl.run(
      'diff',
      '--server-side',
      '-f',
      await personFile('yan', { age: 2 }),
    );
    expect([exit, stderr]).to.deep.equal([1, '']);
    expect(stdout).to.contain('\n-  age: 1\n+  age: 2\n');
    expect(await kubectl.stored('yan')).to.deep.equal(before);
  });
});
