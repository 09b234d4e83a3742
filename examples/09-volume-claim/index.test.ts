import { expect } from 'chai';
import { isInvalid, isNotFound } from 'homeostat';
import type { Client } from 'homeostat';
import { checkConvergence, startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { fileURLToPath } from 'node:url';
import { claimController } from './claim-controller.ts';
import { EphemeralVolumeClaim, Volume } from './models.ts';
import { volumeController } from './volume-controller.ts';

const folder = fileURLToPath(new URL('..', import.meta.url));
const namespace = 'default';
const [owner, app, tier] = ['example.com/owner', 'example.com/app', 'example.com/tier'];
const labels = { [owner]: 'me', [app]: 'sums', note: 'mine' };
const claim = { metadata: { name: 'scratch', namespace, labels }, spec: { size: '1Gi' } };

describe('example 09: ephemeral volume claim', () => {
  let server: TestServer;
  let client: Client;

  beforeEach(async () => {
    server = await startTestServer({ plugins: [folder] });
    client = server.httpClient;
    await client.create(EphemeralVolumeClaim, claim);
    await server.settle();
  });

  afterEach(async () => server.stop());

  const volume = () => client.get(Volume, 'scratch', { namespace });
  const changeClaim = async (patch: object): Promise<void> => {
    await client.patch(EphemeralVolumeClaim, 'scratch', { type: 'merge', patch }, { namespace });
    await server.settle();
  };

  it('keeps a volume with the size of the claim, and with its labels whose keys have a prefix', async () => {
    const { metadata, spec, status } = await volume();
    expect(spec).to.deep.equal({ size: '1Gi' });
    expect(status?.capacity).to.equal('1Gi');
    expect(metadata.labels).to.deep.equal({ [owner]: 'me', [app]: 'sums' });
    const { status: claimed } = await client.get(EphemeralVolumeClaim, 'scratch', { namespace });
    expect(claimed?.conditions?.[0]).to.include({ type: 'Bound', status: 'True', reason: 'Provisioned' });
  });

  it('changes the size of the volume, which stays the same object', async () => {
    const { uid } = (await volume()).metadata;
    await changeClaim({ spec: { size: '2Gi' } });
    const { metadata, status } = await volume();
    expect([metadata.uid, status?.capacity]).to.deep.equal([uid, '2Gi']);
  });

  it('changes and removes labels of the volume as in the claim, and keeps the labels of other managers', async () => {
    const patch = { metadata: { labels: { [tier]: 'fast' } } };
    await client.patch(Volume, 'scratch', { type: 'merge', patch }, { namespace });
    await changeClaim({ metadata: { labels: { [owner]: 'you', [app]: null } } });
    expect((await volume()).metadata.labels).to.deep.equal({ [owner]: 'you', [tier]: 'fast' });
  });

  it('creates a volume again when another user deletes it, and deletes the volume with the claim', async () => {
    const { uid } = (await volume()).metadata;
    await client.delete(Volume, 'scratch', { namespace });
    await server.settle();
    expect((await volume()).metadata.uid).not.to.equal(uid);
    await client.delete(EphemeralVolumeClaim, 'scratch', { namespace });
    await server.settle();
    expect(isNotFound(await volume().catch((error: unknown) => error))).to.equal(true);
  });

  it('refuses a text that is not a size', async () => {
    const refused: unknown = await changeClaim({ spec: { size: 'large' } }).catch((error: unknown) => error);
    expect(isInvalid(refused)).to.equal(true);
    expect((refused as Error).message).to.include('spec.size');
  });
});

describe('the controllers of example 09', () => {
  it('reach the same final state, whatever faults are injected into their requests [slow]', async () => {
    await checkConvergence({
      controllers: [claimController, volumeController],
      seeds: 5,
      async scenario({ client, settle }) {
        await client.create(EphemeralVolumeClaim, claim);
        await settle();
        const patch = { metadata: { labels: { [app]: null } }, spec: { size: '2Gi' } };
        await client.patch(EphemeralVolumeClaim, 'scratch', { type: 'merge', patch }, { namespace });
        await settle();
        await client.delete(Volume, 'scratch', { namespace });
      },
    });
  });
});
