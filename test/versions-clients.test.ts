import { createClient } from '@homeostat/controller-runtime';
import type { Client } from '@homeostat/controller-runtime';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { gadget, gadgetV1, gadgetV2 } from './support/gadget-versions.ts';
import { TestServer } from './support/test-server.ts';

const clients: readonly (readonly [where: string, open: (server: TestServer) => Client])[] = [
  ['in process', ({ api }) => api.client],
  ['over HTTP', ({ api }) => createClient(api.url)],
];

for (const [where, open] of clients) {
  describe(`a client ${where}, and a kind in several versions`, () => {
    let server: TestServer;
    let client: Client;

    beforeEach(async () => {
      server = await TestServer.start();
      server.api.schemeManager.register(gadget);
      await server.api.whenReady(gadget);
      client = open(server);
    });

    afterEach(() => server.stop());

    it('gets, lists and writes in the version of the model', async () => {
      const created = await client.create(gadgetV1, { metadata: { name: 'a' }, spec: { extent: '3 cm' } });
      expect(created.spec).to.deep.equal({ extent: '3 cm', colour: 'red' });
      expect((await client.get(gadgetV2, 'a')).spec).to.deep.equal({ size: 3, unit: 'cm' });
      const updated = await client.update({ ...created, spec: { extent: '4 cm' } });
      expect([updated.apiVersion, updated.metadata.version]).to.deep.equal(['shop.example.com/v1', 2]);
      await client.apply(gadgetV2, { metadata: { name: 'a' }, spec: { size: 4, code: 'x' } }, { fieldManager: 'one' });
      const [item] = (await client.list(gadgetV1)).items;
      expect(item?.spec).to.deep.include({ extent: '4 cm', code: 'x' });
    });

    it('hears of changes in the version of the model', async () => {
      const ending = new AbortController();
      const informer = client.informer(gadgetV1);
      const seen: (string | undefined)[] = [];
      informer.addHandler({
        onAdd: ({ spec }) => void seen.push(spec?.extent),
        onUpdate: (_previous, { spec }) => void seen.push(spec?.extent),
      });
      const running = informer.run(ending.signal);
      await eventually(() => informer.hasSynced());
      await client.create(gadgetV2, { metadata: { name: 'a' }, spec: { size: 3 } });
      await client.patch(gadgetV2, 'a', { type: 'merge', patch: { spec: { size: 4 } } });
      await eventually(() => seen.length === 2);
      expect(seen).to.deep.equal(['3 mm', '4 mm']);
      expect(informer.get({ name: 'a' })?.apiVersion).to.equal('shop.example.com/v1');
      ending.abort();
      await running;
    });

    it('is told (500) of an object that has no such version, and goes on with the others', async () => {
      await client.create(gadgetV2, { metadata: { name: 'b' }, spec: { size: 3, code: 'odd' } });
      await client.create(gadgetV2, { metadata: { name: 'a' }, spec: { size: 3 } });
      const failure = await client.get(gadgetV1, 'b').catch((error: unknown) => String(error));
      expect(failure).to.contain('Gadget "b" cannot be converted from shop.example.com/v2 to shop.example.com/v1');
      expect((await client.get(gadgetV1, 'a')).spec?.extent).to.equal('3 mm');
    });
  });
}
