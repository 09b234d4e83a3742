import { eventually, testPatienceMs } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { letters, newLetter } from '../support/models/models.ts';
import { namespaceGraceMs } from '../support/models/namespaces.ts';
import { KubectlSetup } from './kubectl-setup.ts';

const events = '/api/v1/namespaces/default/events';

describe('kubectl and the built-in kinds [slow]', () => {
  let kubectl: KubectlSetup;

  before(async function () {
    kubectl = await KubectlSetup.start(this);
  });

  after(() => kubectl?.stop());

  /** Runs a command that waits until a namespace is deleted, and advances the clock past the grace period. */
  async function deleting(namespace: string, ...args: readonly string[]): Promise<string> {
    const printed = kubectl.succeeds(...args);
    const { server, clock } = kubectl;
    await eventually(async () => (await server.get(`/api/v1/namespaces/${namespace}`)).body.metadata.deletionTimestamp);
    await clock.advance(namespaceGraceMs);
    return printed;
  }

  it('create, get, label and delete work for a namespace [compat namespaces]', async () => {
    expect(await kubectl.succeeds('create', 'namespace', 'blue')).to.equal('namespace/blue created\n');
    expect(await kubectl.succeeds('get', 'ns', 'blue')).to.match(/^NAME +STATUS +AGE\nblue +Active +\d+s\n$/);
    expect(await kubectl.succeeds('get', 'ns', '-o', 'name'))
      .to.contain('namespace/default\n')
      .and.to.contain('namespace/blue\n');
    expect(await kubectl.succeeds('describe', 'ns', 'blue')).to.match(/^Name: +blue\n/);
    expect(await kubectl.succeeds('label', 'ns', 'blue', 'team=red')).to.equal('namespace/blue labeled\n');
    expect(await deleting('blue', 'delete', 'ns', 'blue')).to.equal('namespace "blue" deleted\n');
    expect((await kubectl.run('get', 'ns', 'blue')).stderr).to.equal(
      'Error from server (NotFound): namespaces "blue" not found\n',
    );
  });

  it('create --dry-run=server stores no namespace; apply -f creates a namespace, and delete -f deletes it [compat namespaces]', async () => {
    expect(await kubectl.succeeds('create', 'ns', 'dry', '--dry-run=server')).to.contain('namespace/dry created');
    const path = await kubectl.file('ns.json', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'applied' } });
    expect(await kubectl.succeeds('apply', '-f', path)).to.equal('namespace/applied created\n');
    expect(await kubectl.succeeds('apply', '-f', path)).to.contain('namespace/applied ');
    expect(
      await kubectl.succeeds(
        'wait',
        '--for=jsonpath={.status.phase}=Active',
        'ns/applied',
        `--timeout=${testPatienceMs(5)}s`,
      ),
    ).to.contain('met');
    expect(await deleting('applied', 'delete', '-f', path)).to.equal('namespace "applied" deleted\n');
    expect(await kubectl.succeeds('get', 'ns', '-o', 'name')).to.equal('namespace/default\n');
  });

  it('delete -f deletes the objects in a file that begins with their namespace [compat namespaces, delete]', async () => {
    const inShop = (name: string): object => {
      const letter = newLetter(name) as { readonly metadata: object };
      return { ...letter, metadata: { ...letter.metadata, namespace: 'shop' } };
    };
    const items = [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }, inShop('a'), inShop('b')];
    const path = await kubectl.file('shop.json', { apiVersion: 'v1', kind: 'List', items });
    await kubectl.succeeds('apply', '-f', path);
    const printed = kubectl.succeeds('delete', '-f', path);
    const lettersThere = letters.replace('letters', 'namespaces/shop/letters');
    await eventually(async () => (await kubectl.server.get(lettersThere)).body.total === 0);
    await kubectl.clock.advance(namespaceGraceMs);
    const deleted = ['a', 'b'].map((name) => `letter.people.example.com "${name}" deleted\n`);
    expect(await printed).to.equal(`namespace "shop" deleted\n${deleted.join('')}`);
  });

  it('-n and -A select objects by namespace, and create fails when the namespace does not exist [compat namespaces]', async () => {
    await kubectl.succeeds('create', 'ns', 'post');
    const letter = await kubectl.file('letter.json', newLetter('hello'));
    expect(await kubectl.succeeds('create', '-n', 'post', '-f', letter)).to.equal(
      'letter.people.example.com/hello created\n',
    );
    expect(await kubectl.succeeds('get', 'letters', '-A')).to.match(/^NAMESPACE +NAME +AGE\npost +hello +\d+s\n$/);
    expect(await kubectl.succeeds('get', 'letters', '-n', 'post', '-o', 'name')).to.equal(
      'letter.people.example.com/hello\n',
    );
    const { exit, stderr } = await kubectl.run('create', '-n', 'nowhere', '-f', letter);
    expect(exit).to.equal(1);
    expect(stderr).to.contain('namespaces "nowhere" not found');
  });

  it('delete ns removes a namespace with its objects, and wait --for=delete ends afterwards [compat namespaces, wait]', async () => {
    const path = `${letters.replace('letters', 'namespaces/post/letters')}/hello`;
    await kubectl.server.patch(path, { metadata: { finalizers: ['example.com/wait'] } });
    expect(await kubectl.succeeds('delete', 'ns', 'post', '--wait=false')).to.equal('namespace "post" deleted\n');
    expect(await kubectl.succeeds('get', 'ns', 'post')).to.match(/^post +Terminating /m);
    await kubectl.clock.advance(namespaceGraceMs);
    await eventually(async () => (await kubectl.server.get(path)).body.metadata.deletionTimestamp !== undefined);
    const waiting = kubectl.succeeds('wait', '--for=delete', 'ns/post', `--timeout=${testPatienceMs(10)}s`);
    await kubectl.server.patch(path, { metadata: { finalizers: null } });
    // If the namespace is deleted before kubectl sends its request, kubectl prints nothing.
    expect(await waiting).to.be.oneOf(['namespace/post condition met\n', '']);
    expect((await kubectl.run('get', 'ns', 'post')).stderr).to.contain('not found');
    expect(await kubectl.succeeds('get', 'letters', '-A', '--ignore-not-found')).to.equal('');
  });

  it('events, get events and describe show the events of an object [compat events, describe]', async () => {
    const { uid } = (await kubectl.server.get('/apis/demo.example.com/v1alpha1/persons/ann')).body.metadata;
    const time = new Date(kubectl.clock.now()).toISOString().replace(/\.\d+/, '');
    await kubectl.server.create(events, {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'ann.18e9f0' },
      involvedObject: { apiVersion: 'demo.example.com/v1alpha1', kind: 'Person', name: 'ann', uid },
      reason: 'Greeted',
      message: 'Said hello',
      type: 'Normal',
      source: { component: 'greeter' },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 2,
    });
    expect(await kubectl.succeeds('get', 'events')).to.match(
      /^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n\S+ +Normal +Greeted +person\/ann +Said hello\n$/,
    );
    expect(await kubectl.succeeds('events')).to.match(/Normal +Greeted +Person\/ann +Said hello\n$/);
    expect(await kubectl.succeeds('events', '--for', 'person/ann')).to.contain('Said hello');
    expect(await kubectl.succeeds('describe', 'person', 'ann')).to.match(
      /Events:[^]*Normal +Greeted +\S+.*greeter +Said hello/,
    );
    expect(await kubectl.succeeds('describe', 'person', 'bob')).to.match(/Events: +<none>/);
  });

  it('auth can-i, can-i --list and whoami show permissions and the user [compat reviews]', async () => {
    const { exit, stdout } = await kubectl.run('auth', 'can-i', 'get', 'persons');
    expect([exit, stdout]).to.deep.equal([0, 'yes\n']);
    expect((await kubectl.run('auth', 'can-i', 'get', '/metrics')).stdout).to.equal('yes\n');
    expect(await kubectl.succeeds('auth', 'can-i', '--list')).to.match(/^\*\.\* +\[\] +\[\] +\[\*\]$/m);
    expect(await kubectl.succeeds('auth', 'whoami')).to.match(/^Username +developer$/m);
  });

  it('create, get and explain work for leases [compat leases]', async () => {
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'op.example.com' } };
    const path = await kubectl.file('lease.json', {
      ...lease,
      spec: { holderIdentity: 'me', leaseDurationSeconds: 4 },
    });
    expect(await kubectl.succeeds('create', '-f', path)).to.equal('lease.coordination.k8s.io/op.example.com created\n');
    expect(await kubectl.succeeds('get', 'leases')).to.match(/^NAME +HOLDER +AGE\nop.example.com +me +\d+s\n$/);
    expect(await kubectl.succeeds('explain', 'lease.spec.holderIdentity')).to.contain('The holder of the lease');
    expect(await kubectl.succeeds('explain', 'ns')).to.contain('KIND: ');
  });
});
