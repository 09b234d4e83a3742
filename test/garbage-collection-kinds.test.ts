import { silentLogger } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { letter, letters, machine, machines, newLetter, newMachine } from './support/models/models.ts';
import { createNamespaces } from './support/models/namespaces.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import type { Answer, RequestOptions } from './support/servers/test-server.ts';
import { TestServer } from './support/servers/test-server.ts';

const lettersIn = (namespace: string): string => letters.replace('letters', `namespaces/${namespace}/letters`);

interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly uid: string };
}

function referenceTo({ apiVersion, kind, metadata: { name, uid } }: Owner): object {
  return { apiVersion, kind, name, uid };
}

/** Creates a policy that refuses all deletions of ConfigMaps, and returns the path of its binding. */
async function keepConfigMaps(server: TestServer): Promise<string> {
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['configmaps'] };
  const metadata = { name: 'keep' };
  await server.create(`/apis/${apiVersion}/validatingadmissionpolicies`, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata,
    spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'false', reason: 'Forbidden' }] },
  });
  const bindings = `/apis/${apiVersion}/validatingadmissionpolicybindings`;
  const spec = { policyName: 'keep', validationActions: ['Deny'] };
  await server.create(bindings, { apiVersion, kind: 'ValidatingAdmissionPolicyBinding', metadata, spec });
  return `${bindings}/keep`;
}

/** Returns a body with owner references: to `owner`, with `blockOwnerDeletion`, and to `others`, without this field. */
function ownedBy(owner: Owner, body: object, ...others: readonly Owner[]): object {
  const { metadata } = body as { metadata: object };
  const ownerReferences = [{ ...referenceTo(owner), blockOwnerDeletion: true }, ...others.map(referenceTo)];
  return { ...body, metadata: { ...metadata, ownerReferences } };
}

describe('garbage collection of a ConfigMap', () => {
  it('is tried again after a policy has refused the deletion', async () => {
    const clock = new FakeClock();
    const errors: string[] = [];
    const error = (_fields: object, message: string): void => void errors.push(message);
    const server = await TestServer.start({ clock, logger: { ...silentLogger, error } });
    try {
      const owner = (await server.create(machines, newMachine('owner'))) as Owner;
      const maps = '/api/v1/namespaces/default/configmaps';
      const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept' } };
      await server.create(maps, ownedBy(owner, map));
      const binding = await keepConfigMaps(server);
      await server.delete(`${machines}/owner`);
      await eventually(() => errors.includes('garbage collection failed; trying again later'));
      expect((await server.get(`${maps}/kept`)).status).to.equal(200);
      await server.delete(binding);
      await eventually(async () => {
        await clock.advance(1_000);
        return (await server.get(`${maps}/kept`)).status === 404;
      });
    } finally {
      await server.stop();
    }
  });
});

describe('garbage collection across namespaces and kinds', () => {
  const warnings: string[] = [];
  let server: TestServer;

  before(async () => {
    const warn = (_fields: object, message: string): void => void warnings.push(message);
    server = await TestServer.start({ logger: { ...silentLogger, warn } });
    await createNamespaces(server.api.client, ['one', 'two']);
  });

  after(() => server.stop());

  const settled = async (): Promise<void> => void (await eventually(() => server.api.isIdle()));
  const statusOf = async (path: string): Promise<number> => (await server.get(path)).status;
  const remove = async (path: string, propagationPolicy: string): Promise<void> => {
    expect((await server.delete(`${path}?propagationPolicy=${propagationPolicy}`)).status).to.equal(200);
    await settled();
  };

  it('an object in a namespace is deleted with its owner in the same namespace, or with its cluster-scoped owner', async () => {
    const far = (await server.create(machines, newMachine('far'))) as Owner;
    const near = (await server.create(lettersIn('one'), newLetter('near'))) as Owner;
    await server.create(lettersIn('one'), ownedBy(far, newLetter('by-far')));
    await server.create(lettersIn('one'), ownedBy(near, newLetter('by-near')));
    await settled();
    expect((await server.get(lettersIn('one'))).body.total).to.equal(3);
    await remove(`${machines}/far`, 'Foreground');
    expect(await statusOf(`${lettersIn('one')}/by-far`)).to.equal(404);
    await remove(`${lettersIn('one')}/near`, 'Foreground');
    expect((await server.get(lettersIn('one'))).body.total).to.equal(0);
  });

  it('an owner in another namespace counts as absent, and the log has a warning', async () => {
    const owner = (await server.create(lettersIn('one'), newLetter('owner'))) as Owner;
    await server.create(lettersIn('two'), newLetter('owner', { text: 'a namesake' }));
    await server.create(lettersIn('two'), ownedBy(owner, newLetter('stray')));
    await settled();
    expect(await statusOf(`${lettersIn('two')}/stray`)).to.equal(404);
    expect(warnings).to.deep.equal(['an object was deleted, because its owner is in another namespace']);
    for (const namespace of ['one', 'two']) await remove(`${lettersIn(namespace)}/owner`, 'Background');
  });

  it('a cluster-scoped object with an owner in a namespace is never collected, and does not delay the deletion of the owner', async () => {
    const owner = (await server.create(lettersIn('one'), newLetter('owner'))) as Owner;
    const other = (await server.create(machines, newMachine('other'))) as Owner;
    await server.create(machines, ownedBy(owner, newMachine('kept')));
    await server.create(machines, ownedBy(owner, newMachine('both'), other));
    await remove(`${machines}/other`, 'Background');
    await remove(`${lettersIn('one')}/owner`, 'Foreground');
    expect(await statusOf(`${lettersIn('one')}/owner`)).to.equal(404);
    for (const name of ['kept', 'both']) expect(await statusOf(`${machines}/${name}`), name).to.equal(200);
    expect(warnings).to.include('an object without a namespace is never collected: its owner is in a namespace');
    expect((await server.delete(machines)).status).to.equal(200);
  });

  for (const policy of ['Foreground', 'Orphan']) {
    it(`${policy}: while the kind of a dependent is not served, the deletion of the owner waits`, async () => {
      const owner = (await server.create(machines, newMachine('owner'))) as Owner;
      await server.create(lettersIn('one'), ownedBy(owner, newLetter('hidden')));
      await settled();
      server.api.schemeManager.unregister(letter, 'service');
      await remove(`${machines}/owner`, policy);
      expect((await server.get(`${machines}/owner`)).body.metadata.deletionTimestamp).to.be.a('string');
      server.api.schemeManager.register(letter);
      await server.api.whenReady(letter);
      await settled();
      expect(await statusOf(`${machines}/owner`)).to.equal(404);
      const { status, body } = await server.get(`${lettersIn('one')}/hidden`);
      expect(status).to.equal(policy === 'Orphan' ? 200 : 404);
      expect(body.metadata.ownerReferences).to.equal(undefined);
      await remove(lettersIn('one'), 'Background');
    });
  }

  it('Foreground: an owner waits for a dependent of an unserved kind, even if the kind had no objects when an earlier owner was deleted', async () => {
    const fresh = await TestServer.start();
    const deleted = async (name: string): Promise<number> => {
      await fresh.delete(`${machines}/${name}?propagationPolicy=Foreground`);
      await eventually(() => fresh.api.isIdle());
      return (await fresh.get(`${machines}/${name}`)).status;
    };
    await fresh.create(machines, newMachine('first'));
    expect(await deleted('first')).to.equal(404);
    const owner = (await fresh.create(machines, newMachine('owner'))) as Owner;
    await fresh.create(lettersIn('default'), ownedBy(owner, newLetter('hidden')));
    fresh.api.schemeManager.unregister(letter, 'service');
    expect(await deleted('owner')).to.equal(200);
    await fresh.stop();
  });

  it('a dependent is kept while the kind of one of its owners is not served, even if its other owners are deleted', async () => {
    const [owner, other] = [
      await server.create(machines, newMachine('owner')),
      await server.create(lettersIn('one'), newLetter('other')),
    ];
    await server.create(lettersIn('one'), ownedBy(owner as Owner, newLetter('owned')));
    await settled();
    server.api.schemeManager.unregister(machine, 'service');
    const references = [owner as Owner, other as Owner].map(referenceTo);
    await server.patch(`${lettersIn('one')}/owned`, { metadata: { ownerReferences: references } });
    await remove(`${lettersIn('one')}/other`, 'Background');
    const owned = await server.get(`${lettersIn('one')}/owned`);
    expect(owned.body.metadata.ownerReferences).to.have.length(2);
    server.api.schemeManager.register(machine);
    await server.api.whenReady(machine);
    await settled();
    expect((await server.get(`${lettersIn('one')}/owned`)).body.metadata.ownerReferences).to.deep.equal([
      references[0],
    ]);
    await remove(`${machines}/owner`, 'Background');
    expect((await server.get(lettersIn('one'))).body.total).to.equal(0);
  });
});

describe('the policy of a deletion for dependents', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  after(() => server.stop());

  /** Returns the state after the deletion of an owner: the owner's finalizers, and the state of its dependent. */
  const leftBy = async (remove: (path: string) => Promise<Answer>): Promise<readonly [readonly string[], string]> => {
    const owner = (await server.create(machines, {
      ...newMachine('owner'),
      metadata: { name: 'owner', finalizers: ['hold'] },
    })) as Owner;
    await server.create(machines, ownedBy(owner, newMachine('owned')));
    const { status, body, text } = await remove(`${machines}/owner`);
    expect(status, text).to.equal(200);
    const finalizers = (body.metadata.finalizers ?? body.items[0].metadata.finalizers) as readonly string[];
    await eventually(() => server.api.isIdle());
    const { status: found, body: owned } = await server.get(`${machines}/owned`);
    const left = found === 404 ? 'gone' : owned.metadata.ownerReferences === undefined ? 'orphaned' : 'owned';
    await server.patch(`${machines}/owner`, { metadata: { finalizers: null } });
    await server.delete(machines);
    await eventually(async () => (await server.get(machines)).body.total === 0);
    return [finalizers, left];
  };
  const sent = (options: RequestOptions) => async (path: string) => server.delete(path, options);
  const asked = (query: string) => async (path: string) => server.delete(`${path}?${query}`);

  it('may be sent in JSON, in YAML, in the query, or as the older option orphanDependents', async () => {
    const foreground = [['hold', 'foregroundDeletion'], 'gone'];
    const orphan = [['hold', 'orphan'], 'orphaned'];
    const background = [['hold'], 'owned'];
    const yaml = { body: 'propagationPolicy: Foreground\n', type: 'application/yaml' };
    expect(await leftBy(sent({ body: { propagationPolicy: 'Foreground' } }))).to.deep.equal(foreground);
    expect(await leftBy(sent(yaml))).to.deep.equal(foreground);
    expect(await leftBy(asked('propagationPolicy=Orphan'))).to.deep.equal(orphan);
    expect(await leftBy(sent({ body: { orphanDependents: true } }))).to.deep.equal(orphan);
    expect(await leftBy(asked('orphanDependents=true'))).to.deep.equal(orphan);
    expect(await leftBy(sent({ body: { orphanDependents: false } }))).to.deep.equal(background);
    expect(await leftBy(sent({ body: { propagationPolicy: null, orphanDependents: null } }))).to.deep.equal(background);
  });

  it('applies to all selected objects in a deletion of a collection', async () => {
    await server.create(machines, {
      ...newMachine(''),
      metadata: { name: 'x', labels: { of: 'us' }, finalizers: ['hold'] },
    });
    const owner = (await server.get(`${machines}/x`)).body as Owner;
    await server.create(machines, ownedBy(owner, newMachine('owned')));
    const body = { propagationPolicy: 'Orphan' };
    expect((await server.delete(`${machines}?labelSelector=of%3Dus`, { body })).body.total).to.equal(1);
    await eventually(() => server.api.isIdle());
    expect((await server.get(`${machines}/owned`)).body.metadata.ownerReferences).to.equal(undefined);
    await server.patch(`${machines}/x`, { metadata: { finalizers: null } });
    await server.delete(machines);
  });

  it('is refused when propagationPolicy and orphanDependents are both set, or one of them has an invalid value', async () => {
    await server.create(machines, newMachine('kept'));
    const path = `${machines}/kept`;
    const both = { body: { propagationPolicy: 'Orphan', orphanDependents: false } };
    expectRefusal(await server.delete(path, both), {
      reason: 'Invalid',
      causes: ['FieldValueInvalid propagationPolicy'],
    });
    const mixed = await server.delete(`${path}?orphanDependents=true`, { body: { propagationPolicy: 'Orphan' } });
    expectRefusal(mixed, { reason: 'Invalid', causes: ['FieldValueInvalid propagationPolicy'] });
    expectRefusal(await server.delete(path, { body: { orphanDependents: 'yes' } }), { reason: 'BadRequest' });
    expectRefusal(await server.delete(`${path}?orphanDependents=yes`), { reason: 'Invalid' });
    const wrong = { propagationPolicy: 'Slow' as 'Orphan' };
    const failed: unknown = await server.api.client.delete(machine, 'kept', wrong).catch((error: unknown) => error);
    expect(failed).to.include({ reason: 'Invalid' });
    expect((await server.get(path)).status).to.equal(200);
    await server.delete(machines);
  });

  it('has no effect in a dry run, but the response has the finalizer of the policy', async () => {
    const made = await server.create(machines, newMachine('kept'));
    const answer = await server.delete(`${machines}/kept?dryRun=All&propagationPolicy=Foreground`);
    expect(answer.body.metadata.finalizers).to.deep.equal(['foregroundDeletion']);
    await eventually(() => server.api.isIdle());
    expect((await server.get(`${machines}/kept`)).body).to.deep.equal(made);
    await server.delete(machines);
  });

  it('increases the generation only once, even if another request changes the policy later', async () => {
    await server.create(machines, { ...newMachine(''), metadata: { name: 'held', finalizers: ['hold'] } });
    const versions: unknown[] = [];
    for (const policy of ['Background', 'Foreground', 'Foreground']) {
      const { body } = await server.delete(`${machines}/held?propagationPolicy=${policy}`);
      versions.push([body.metadata.generation, body.metadata.version]);
      await eventually(() => server.api.isIdle());
    }
    // After each request with the policy Foreground, the server removes the finalizer that the request has added,
    // because the object has no dependents. The removal increases the version by 1.
    expect(versions).to.deep.equal([
      [2, 2],
      [2, 3],
      [2, 5],
    ]);
  });
});
