import { controller, createClient } from '@homeostat/controller-runtime';
import {
  AbstractExtension,
  defineVersions,
  GVK,
  IndexSpec,
  Schema,
  simpleAttribute,
} from '@homeostat/controller-runtime/api';
import type { Client } from '@homeostat/controller-runtime';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { definePlugin } from 'homeostat';
import { startTestServer } from 'homeostat/testing';
import { gadget, gadgetV1, gadgetV2 } from './support/models/gadget-versions.ts';
import { TestServer } from './support/servers/test-server.ts';

const clients: readonly (readonly [where: string, open: (server: TestServer) => Client])[] = [
  ['in process', ({ api }) => api.client],
  ['over HTTP', ({ api }) => createClient(api.url)],
];

for (const [where, open] of clients) {
  describe(`a client ${where} of a kind in several versions`, () => {
    let server: TestServer;
    let client: Client;

    beforeEach(async () => {
      server = await TestServer.start();
      server.api.schemeManager.register(gadget);
      await server.api.whenReady(gadget);
      client = open(server);
    });

    afterEach(() => server.stop());

    it('reads, lists and writes objects in the version of the model', async () => {
      const created = await client.create(gadgetV1, { metadata: { name: 'a' }, spec: { extent: '3 cm' } });
      expect(created.spec).to.deep.equal({ extent: '3 cm', colour: 'red' });
      expect((await client.get(gadgetV2, 'a')).spec).to.deep.equal({ size: 3, unit: 'cm' });
      const updated = await client.update({ ...created, spec: { extent: '4 cm' } });
      expect([updated.apiVersion, updated.metadata.version]).to.deep.equal(['shop.example.com/v1', 2]);
      await client.apply(gadgetV2, { metadata: { name: 'a' }, spec: { size: 4, code: 'x' } }, { fieldManager: 'one' });
      const [item] = (await client.list(gadgetV1)).items;
      expect(item?.spec).to.deep.include({ extent: '4 cm', code: 'x' });
    });

    it('receives changes in the version of the model', async () => {
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

    it('gets an error for an object that cannot be converted to the version of the model, and still reads other objects', async () => {
      await client.create(gadgetV2, { metadata: { name: 'b' }, spec: { size: 3, code: 'odd' } });
      await client.create(gadgetV2, { metadata: { name: 'a' }, spec: { size: 3 } });
      const failure = await client.get(gadgetV1, 'b').catch((error: unknown) => String(error));
      expect(failure).to.contain('Gadget "b" cannot be converted from shop.example.com/v2 to shop.example.com/v1');
      expect((await client.get(gadgetV1, 'a')).spec?.extent).to.equal('3 mm');
    });

    it('deletes an object with a finalizer even if the object cannot be converted to the version of the model', async () => {
      const metadata = { name: 'b', finalizers: ['example.com/hold'] };
      await client.create(gadgetV2, { metadata, spec: { size: 3, code: 'odd' } });
      expect(await client.delete(gadgetV1, 'b')).to.equal(undefined);
      expect((await client.get(gadgetV2, 'b')).metadata.deletionTimestamp).to.be.a('string');
      await client.patch(gadgetV2, 'b', { type: 'merge', patch: { metadata: { finalizers: null } } });
    });
  });
}

@GVK({ group: 'class.example.com', version: 'v1', kind: 'Member', plural: 'members' })
class MemberV1 extends AbstractExtension {
  @Schema({ type: 'string' }) fullName?: string;
}

@GVK({ group: 'class.example.com', version: 'v2', kind: 'Member', plural: 'members' })
class MemberV2 extends AbstractExtension {
  @Schema({ type: 'string' }) first?: string;
  @Schema({ type: 'string' }) last?: string;
}

const member = defineVersions(MemberV2, [
  {
    model: MemberV1,
    toStorage: ({ fullName = '' }) => ({ first: fullName.split(' ')[0] ?? '', last: fullName.split(' ')[1] ?? '' }),
    fromStorage: ({ first, last }) => ({ fullName: `${first} ${last}` }),
  },
]);

describe('a plugin with a kind in several versions, declared by classes', () => {
  it('may declare indexes in the callback of `register`, and may have a controller for an older version', async () => {
    const seen: string[] = [];
    const definition = controller(MemberV1, { reconcile: ({ object }) => void seen.push(object.fullName ?? '') });
    const plugin = definePlugin({
      controllers: [definition],
      start: ({ schemeManager }) => {
        const indexFunc = simpleAttribute(MemberV2, ({ last }) => last);
        schemeManager.register(member, (indexSpecs) => indexSpecs.add(new IndexSpec({ name: 'last', indexFunc })));
      },
    });
    const server = await startTestServer({ plugins: [plugin] });
    try {
      await server.client.create(MemberV2, { metadata: { name: 'a' }, first: 'Ann', last: 'Lee' });
      await server.settle();
      expect(seen).to.deep.equal(['Ann Lee']);
      const { items } = await server.httpClient.list(MemberV1, { fieldSelector: 'last=Lee' });
      expect(items.map(({ fullName }) => fullName)).to.deep.equal(['Ann Lee']);
      expect((await server.client.get(MemberV1, 'a')).fullName).to.equal('Ann Lee');
    } finally {
      await server.stop();
    }
  });
});
