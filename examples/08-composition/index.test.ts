import { expect } from 'chai';
import { isNotFound } from 'homeostat';
import type { Client, Model } from 'homeostat';
import { checkConvergence, startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { fileURLToPath } from 'node:url';
import { environmentController } from './environment-controller.ts';
import { Application, Database, Environment, Network } from './models.ts';
import { applicationController, databaseController, networkController } from './providers.ts';

const folder = fileURLToPath(new URL('..', import.meta.url));
const parts: readonly Model[] = [Network, Database, Application];

async function exists(client: Client, model: Model): Promise<boolean> {
  return client.get(model, 'shop').then(
    () => true,
    (error: unknown) => {
      if (isNotFound(error)) return false;
      throw error;
    },
  );
}

const present = (client: Client): Promise<boolean[]> => Promise.all(parts.map((model) => exists(client, model)));

describe('example 08: composition', () => {
  let server: TestServer;
  let client: Client;

  beforeEach(async () => {
    server = await startTestServer({ plugins: [folder] });
    client = server.httpClient;
  });

  afterEach(async () => server.stop());

  const claim = async (region: string): Promise<void> => {
    await client.create(Environment, { metadata: { name: 'shop' }, spec: { region, image: 'shop:1' } });
    await server.settle();
  };
  const conditions = async (): Promise<Record<string, string>> => {
    const { status } = await client.get(Environment, 'shop');
    return Object.fromEntries((status?.conditions ?? []).map((each) => [each.type, `${each.status} ${each.reason}`]));
  };

  it('creates all parts of an environment, which is ready when all parts are ready', async () => {
    await claim('north');
    expect(await present(client)).to.deep.equal([true, true, true]);
    expect((await client.get(Database, 'shop')).spec).to.deep.equal({ network: 'shop', size: 'small' });
    const ready = 'True Provisioned';
    expect(await conditions()).to.include({ NetworkReady: ready, DatabaseReady: ready, ApplicationReady: ready });
    expect((await conditions())['Ready']).to.match(/^True/);
  });

  it('creates a part only when the previous part is ready, and reports the parts that wait', async () => {
    await claim('nowhere');
    expect(await present(client)).to.deep.equal([true, false, false]);
    expect(await conditions()).to.deep.equal({
      NetworkReady: 'False Provisioning',
      DatabaseReady: 'False Waiting',
      ApplicationReady: 'False Waiting',
      Ready: 'False Provisioning',
    });
    await client.patch(Environment, 'shop', { type: 'merge', patch: { spec: { region: 'north' } } });
    await server.settle();
    expect(await present(client)).to.deep.equal([true, true, true]);
  });

  it('deletes the parts of an environment in the reverse order, one at a time', async () => {
    await claim('north');
    for (const model of parts) {
      const { metadata } = await client.get(model, 'shop');
      const finalizers = [...(metadata.finalizers ?? []), 'example.com/hold'];
      await client.patch(model, 'shop', { type: 'merge', patch: { metadata: { finalizers } } });
    }
    await server.settle();
    await client.delete(Environment, 'shop');
    await server.settle();
    for (const model of parts.toReversed()) {
      const deleting = await Promise.all(
        parts.map(async (each) => {
          if (!(await exists(client, each))) return 'gone';
          return (await client.get(each, 'shop')).metadata.deletionTimestamp === undefined ? 'there' : 'deleting';
        }),
      );
      const position = parts.indexOf(model);
      const expected = parts.map((_, index) => (index < position ? 'there' : index > position ? 'gone' : 'deleting'));
      expect(deleting).to.deep.equal(expected);
      await client.patch(model, 'shop', { type: 'merge', patch: { metadata: { finalizers: [] } } });
      await server.settle();
    }
    expect(await exists(client, Environment)).to.equal(false);
  });
});

describe('the controllers of example 08', () => {
  it('reach the same final state, and no part ever exists without the previous part, whatever faults are injected [slow]', async () => {
    await checkConvergence({
      controllers: [environmentController, networkController, databaseController, applicationController],
      seeds: 2,
      invariants: {
        'no part exists without the part before it': async (client) => {
          const [network, database, application] = await present(client);
          if (application === true) expect(database).to.equal(true);
          if (database === true) expect(network).to.equal(true);
        },
      },
      async scenario({ client, settle }) {
        await client.create(Environment, { metadata: { name: 'shop' }, spec: { region: 'north', image: 'shop:1' } });
        await settle();
        await client.patch(Environment, 'shop', { type: 'merge', patch: { spec: { size: 'large' } } });
        await settle();
        await client.delete(Environment, 'shop');
      },
    });
  });
});
