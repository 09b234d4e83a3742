import { eventually, testPatienceMs } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { demoPersons, newDemoPerson } from '../support/models/demo-person.ts';
import { KubectlSetup } from './kubectl-setup.ts';

const ref = 'person.demo.example.com';

describe('kubectl writes [slow]', () => {
  let kubectl: KubectlSetup;

  before(async function () {
    kubectl = await KubectlSetup.start(this);
  });

  after(() => kubectl?.stop());

  it('create -f creates an object [compat create]', async () => {
    const file = await kubectl.file('cat.json', newDemoPerson('cat', { age: 3 }));
    expect(await kubectl.succeeds('create', '-f', file)).to.equal(`${ref}/cat created\n`);
    expect((await kubectl.stored('cat')).spec).to.deep.equal({ name: 'CAT', age: 3 });
    expect(await kubectl.fails('create', '-f', file)).to.match(
      /^Error from server \(AlreadyExists\): .*"cat" already exists\n$/,
    );
  });

  it('create -f generates a name with generateName [compat create]', async () => {
    const file = await kubectl.file('gen.json', { ...newDemoPerson(''), metadata: { generateName: 'gen-' } });
    expect(await kubectl.succeeds('create', '-f', file)).to.match(/^person\.demo\.example\.com\/gen-\w{5} created\n$/);
  });

  it('create --dry-run=server stores nothing [compat create, dry-run]', async () => {
    const file = await kubectl.file('dry.json', newDemoPerson('dry'));
    expect(await kubectl.succeeds('create', '--dry-run=server', '-f', file)).to.equal(
      `${ref}/dry created (server dry run)\n`,
    );
    expect((await kubectl.stored('dry')).reason).to.equal('NotFound');
  });

  it('create -f names each field that breaks the schema [compat validation]', async () => {
    const file = await kubectl.file('bad.json', newDemoPerson('bad', { age: 999, gender: 'X' }));
    const error = await kubectl.fails('create', '-f', file);
    expect(error).to.contain('The Person "bad" is invalid:');
    expect(error).to.contain('* spec.age: Invalid value: 999:').and.contain('* spec.gender: Unsupported value: "X"');
  });

  it('create -f with an unknown field fails, warns or succeeds, depending on --validate [compat validation]', async () => {
    const file = await kubectl.file('odd.json', newDemoPerson('odd', { bogus: 1 }));
    expect(await kubectl.fails('create', '-f', file)).to.contain('unknown field "spec.bogus"');
    const warned = await kubectl.run('create', '--validate=warn', '-f', file);
    expect(warned).to.deep.equal({
      exit: 0,
      stdout: `${ref}/odd created\n`,
      stderr: 'Warning: unknown field "spec.bogus"\n',
    });
    const other = await kubectl.file('odd2.json', newDemoPerson('odd2', { bogus: 1 }));
    expect(await kubectl.succeeds('create', '--validate=false', '-f', other)).to.equal(`${ref}/odd2 created\n`);
  });

  it('create --validate=warn prints warnings also when the object is refused for another reason [compat validation]', async () => {
    const file = await kubectl.file('both.json', newDemoPerson('both', { bogus: 1, age: 999 }));
    const { exit, stderr } = await kubectl.run('create', '--validate=warn', '-f', file);
    expect(exit).to.equal(1);
    expect(stderr).to.contain('Warning: unknown field "spec.bogus"\n').and.contain('spec.age: Invalid value: 999');
  });

  it('apply -f creates and changes objects, and removes fields that are no longer in the file [compat client-side-apply]', async () => {
    const apply = async (spec: object): Promise<string> =>
      kubectl.succeeds('apply', '-f', await kubectl.file('dan.json', newDemoPerson('dan', spec)));
    expect(await apply({ age: 30, gender: 'MALE' })).to.equal(`${ref}/dan created\n`);
    expect(await apply({ age: 31, gender: 'MALE' })).to.equal(`${ref}/dan configured\n`);
    expect(await apply({ age: 31, gender: 'MALE' })).to.equal(`${ref}/dan unchanged\n`);
    expect(await apply({ age: 31 })).to.equal(`${ref}/dan configured\n`);
    expect((await kubectl.stored('dan')).spec).to.deep.equal({ name: 'DAN', age: 31 });
    const viewed = await kubectl.succeeds('apply', 'view-last-applied', 'ps', 'dan');
    expect(viewed).to.contain('  age: 31\n').and.not.contain('gender');
  });

  it('apply -f with an unknown field is refused, and changes nothing [compat client-side-apply, validation, dry-run]', async () => {
    await kubectl.succeeds('apply', '-f', await kubectl.file('eve.json', newDemoPerson('eve')));
    const before = await kubectl.stored('eve');
    const error = await kubectl.fails(
      'apply',
      '-f',
      await kubectl.file('eve2.json', newDemoPerson('eve', { bogus: 1 })),
    );
    expect(error).to.contain('unknown field "spec.bogus"');
    expect(await kubectl.stored('eve')).to.deep.equal(before);
    const dry = await kubectl.file('eve3.json', newDemoPerson('eve', { age: 5 }));
    expect(await kubectl.succeeds('apply', '--dry-run=server', '-f', dry)).to.equal(
      `${ref}/eve configured (server dry run)\n`,
    );
    expect(await kubectl.stored('eve')).to.deep.equal(before);
  });

  it('apply set-last-applied --create-annotation succeeds for an object without the annotation [compat client-side-apply]', async () => {
    const file = await kubectl.file('ann.json', newDemoPerson('ann', { age: 30 }));
    expect(await kubectl.succeeds('apply', 'set-last-applied', '-f', file, '--create-annotation')).to.equal(
      `${ref}/ann configured\n`,
    );
  });

  it('diff shows the changes of an apply, and exits with 1 for changes [compat diff]', async () => {
    await kubectl.succeeds('apply', '-f', await kubectl.file('fay.json', newDemoPerson('fay', { age: 1 })));
    const { exit, stdout } = await kubectl.run(
      'diff',
      '-f',
      await kubectl.file('fay2.json', newDemoPerson('fay', { age: 2 })),
    );
    expect(exit).to.equal(1);
    expect(stdout).to.contain('\n-  age: 1\n+  age: 2\n');
    expect(
      await kubectl.succeeds('diff', '-f', await kubectl.file('fay.json', newDemoPerson('fay', { age: 1 }))),
    ).to.equal('');
  });

  it('replace, replace --force and replace --subresource=status work [compat replace, status]', async () => {
    await kubectl.server.create(demoPersons, newDemoPerson('gus', { age: 1 }));
    const { uid } = (await kubectl.stored('gus')).metadata;
    const file = await kubectl.file('gus.json', { ...newDemoPerson('gus', { age: 2 }), status: { phase: 'Up' } });
    expect(await kubectl.succeeds('replace', '-f', file)).to.equal(`${ref}/gus replaced\n`);
    expect(await kubectl.stored('gus'))
      .to.deep.include({ spec: { name: 'GUS', age: 2 } })
      .and.not.have.property('status');
    expect(await kubectl.succeeds('replace', '--subresource=status', '-f', file)).to.equal(`${ref}/gus replaced\n`);
    expect((await kubectl.stored('gus')).status).to.deep.equal({ phase: 'Up' });
    expect(await kubectl.succeeds('replace', '--force', '-f', file)).to.equal(
      `${ref} "gus" deleted\n${ref}/gus replaced\n`,
    );
    expect((await kubectl.stored('gus')).metadata.uid).not.to.equal(uid);
  });

  it('edit changes an object, and is cancelled when the editor changes nothing [compat edit]', async () => {
    const edited = await kubectl.runWith({ KUBE_EDITOR: 'sed -i s/age:.20/age:\\ 21/' }, 'edit', 'ps', 'bob');
    expect(edited).to.deep.equal({ exit: 0, stdout: `${ref}/bob edited\n`, stderr: '' });
    expect((await kubectl.stored('bob')).spec.age).to.equal(21);
    const same = await kubectl.runWith({ KUBE_EDITOR: 'true' }, 'edit', 'ps', 'bob');
    expect(same).to.deep.equal({ exit: 0, stdout: '', stderr: 'Edit cancelled, no changes made.\n' });
  });

  for (const [type, patch, age] of [
    ['merge', '{"spec":{"age":50}}', 50],
    ['json', '[{"op":"replace","path":"/spec/age","value":51}]', 51],
    ['strategic', '{"spec":{"age":52}}', 52],
  ] as const) {
    it(`patch --type=${type} changes an object, but stores nothing with --dry-run=server [compat patch]`, async () => {
      const args = ['patch', 'ps', 'ann', `--type=${type}`, '-p', patch];
      expect(await kubectl.succeeds(...args, '--dry-run=server')).to.contain('patched');
      expect((await kubectl.stored('ann')).spec.age).not.to.equal(age);
      expect(await kubectl.succeeds(...args)).to.equal(`${ref}/ann patched\n`);
      expect((await kubectl.stored('ann')).spec.age).to.equal(age);
      expect(await kubectl.succeeds(...args)).to.equal(`${ref}/ann patched (no change)\n`);
    });
  }

  it('patch works without a type, and for the status [compat patch, status]', async () => {
    expect(await kubectl.succeeds('patch', 'ps', 'ann', '-p', '{"spec":{"age":53}}')).to.equal(`${ref}/ann patched\n`);
    const patch = '{"status":{"phase":"Active"},"spec":{"age":1}}';
    expect(await kubectl.succeeds('patch', 'ps', 'ann', '--subresource=status', '--type=merge', '-p', patch)).to.equal(
      `${ref}/ann patched\n`,
    );
    expect(await kubectl.stored('ann'))
      .to.deep.include({ status: { phase: 'Active' } })
      .and.nested.include({ 'spec.age': 53 });
    const error = await kubectl.fails('patch', 'ps', 'ann', '--type=merge', '-p', '{"spec":{"age":-1}}');
    expect(error).to.contain('The Person "ann" is invalid: spec.age: Invalid value: -1:');
  });

  it('label sets, overwrites (only with --overwrite), lists and removes labels, and annotate sets and removes annotations [compat label]', async () => {
    expect(await kubectl.succeeds('label', 'ps', 'ann', 'tier=gold')).to.equal(`${ref}/ann labeled\n`);
    expect(await kubectl.fails('label', 'ps', 'ann', 'tier=tin')).to.contain(
      'already has a value (gold), and --overwrite is false',
    );
    expect(await kubectl.succeeds('label', '--overwrite', 'ps', 'ann', 'tier=tin')).to.equal(`${ref}/ann labeled\n`);
    expect((await kubectl.succeeds('label', 'ps', 'ann', '--list')).split('\n')).to.include('tier=tin');
    expect(await kubectl.succeeds('label', 'ps', 'ann', 'tier-')).to.equal(`${ref}/ann unlabeled\n`);
    expect(await kubectl.fails('label', 'ps', 'ann', 'a=b', '--resource-version=1')).to.contain(
      'Error from server (Conflict)',
    );
    expect(await kubectl.succeeds('annotate', 'ps', 'ann', 'note=hi')).to.equal(`${ref}/ann annotated\n`);
    expect((await kubectl.stored('ann')).metadata)
      .to.deep.include({ labels: { team: 'red' } })
      .and.nested.include({ 'annotations.note': 'hi' });
    expect(await kubectl.succeeds('annotate', 'ps', 'ann', 'note-')).to.equal(`${ref}/ann annotated\n`);
    expect(await kubectl.succeeds('label', 'ps', '-l', 'team=red', 'seen=yes')).to.equal(`${ref}/ann labeled\n`);
  });

  it('create, replace and delete work with --raw [compat raw]', async () => {
    const file = await kubectl.file('hal.json', newDemoPerson('hal'));
    expect(JSON.parse(await kubectl.succeeds('create', '--raw', demoPersons, '-f', file))).to.have.nested.property(
      'metadata.uid',
    );
    const changed = await kubectl.file('hal2.json', newDemoPerson('hal', { age: 9 }));
    expect(
      JSON.parse(await kubectl.succeeds('replace', '--raw', `${demoPersons}/hal`, '-f', changed)),
    ).to.have.nested.property('spec.age', 9);
    expect(JSON.parse(await kubectl.succeeds('delete', '--raw', `${demoPersons}/hal`))).to.include({
      status: 'Success',
    });
  });

  it('delete works by name, file and selector, without waiting and as a dry run, and fails for an absent object [compat delete, dry-run]', async () => {
    for (const name of ['x1', 'x2', 'x3', 'x4', 'x5']) {
      await kubectl.server.create(demoPersons, newDemoPerson(name, { gender: 'MALE' }, { labels: { gone: name } }));
    }
    const gone = (name: string): string => `${ref} "${name}" deleted\n`;
    expect(await kubectl.succeeds('delete', 'ps', 'x1', '--dry-run=server')).to.equal(
      `${ref} "x1" deleted (server dry run)\n`,
    );
    expect((await kubectl.stored('x1')).kind).to.equal('Person');
    expect(await kubectl.succeeds('delete', 'ps', 'x1')).to.equal(gone('x1'));
    expect((await kubectl.stored('x1')).reason).to.equal('NotFound');
    expect(await kubectl.succeeds('delete', '-f', await kubectl.file('x2.json', newDemoPerson('x2')))).to.equal(
      gone('x2'),
    );
    expect(await kubectl.succeeds('delete', 'ps', '-l', 'gone=x3')).to.equal(gone('x3'));
    expect(await kubectl.succeeds('delete', 'ps', '--field-selector', 'metadata.name=x4')).to.equal(gone('x4'));
    expect(await kubectl.succeeds('delete', 'ps', 'x5', '--wait=false', '--cascade=orphan')).to.equal(gone('x5'));
    expect(await kubectl.fails('delete', 'ps', 'x1')).to.equal(
      'Error from server (NotFound): persons.demo.example.com "x1" not found\n',
    );
    expect(await kubectl.succeeds('delete', 'ps', 'x1', '--ignore-not-found')).to.equal('');
  });

  it('delete waits until the finalizers of the object are removed [compat delete]', async () => {
    await kubectl.server.create(demoPersons, newDemoPerson('ivy', {}, { finalizers: ['demo.example.com/x'] }));
    const deletion = kubectl.run('delete', 'ps', 'ivy');
    const printed = kubectl.watch(
      'wait',
      '--for=jsonpath={.metadata.deletionTimestamp}',
      'ps/ivy',
      `--timeout=${testPatienceMs(10)}s`,
    );
    await printed(/condition met/);
    await kubectl.succeeds(
      'patch',
      'ps',
      'ivy',
      '--type=json',
      '-p',
      '[{"op":"remove","path":"/metadata/finalizers"}]',
    );
    expect(await deletion).to.deep.equal({ exit: 0, stdout: `${ref} "ivy" deleted\n`, stderr: '' });
    expect((await kubectl.stored('ivy')).reason).to.equal('NotFound');
  });

  it('delete --cascade deletes the dependents after the owner (background) or before it (foreground), or keeps them without an owner (orphan) [compat delete]', async () => {
    const make = async (): Promise<void> => {
      const { apiVersion, kind, metadata } = await kubectl.server.create(demoPersons, newDemoPerson('owner'));
      const owner = { apiVersion, kind, name: 'owner', uid: metadata.uid, blockOwnerDeletion: true };
      const held = { ownerReferences: [owner], finalizers: ['demo.example.com/x'] };
      await kubectl.server.create(demoPersons, newDemoPerson('owned', {}, held));
    };
    const release = '[{"op":"remove","path":"/metadata/finalizers"}]';
    const gone = `${ref} "owner" deleted\n`;

    await make();
    expect(await kubectl.succeeds('delete', 'ps', 'owner', '--cascade=background')).to.equal(gone);
    await kubectl.succeeds(
      'wait',
      '--for=jsonpath={.metadata.deletionTimestamp}',
      'ps/owned',
      `--timeout=${testPatienceMs(10)}s`,
    );
    await kubectl.succeeds('patch', 'ps', 'owned', '--type=json', '-p', release);

    await make();
    const foreground = kubectl.run('delete', 'ps', 'owner', '--cascade=foreground');
    await eventually(async () => (await kubectl.stored('owned')).metadata.deletionTimestamp !== undefined);
    expect((await kubectl.stored('owner')).metadata.finalizers).to.deep.equal(['foregroundDeletion']);
    await kubectl.succeeds('patch', 'ps', 'owned', '--type=json', '-p', release);
    expect(await foreground).to.deep.equal({ exit: 0, stdout: gone, stderr: '' });
    expect((await kubectl.stored('owner')).reason).to.equal('NotFound');

    await make();
    expect(await kubectl.succeeds('delete', 'ps', 'owner', '--cascade=orphan')).to.equal(gone);
    const { metadata } = await kubectl.stored('owned');
    expect(metadata.deletionTimestamp).to.equal(undefined);
    expect(metadata.ownerReferences).to.equal(undefined);
    await kubectl.succeeds('patch', 'ps', 'owned', '--type=json', '-p', release);
  });

  it('delete --all deletes all objects of a kind [compat delete]', async () => {
    const printed = await kubectl.succeeds('delete', 'ps', '--all');
    expect(printed).to.contain('"ann" deleted');
    expect((await kubectl.server.get(demoPersons)).body.total).to.equal(0);
  });
});
