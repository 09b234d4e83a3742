import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { issuerCertificate } from './support/logins/issuer-certificate.ts';
import type { TestServer } from './support/servers/test-server.ts';
import { describeTwoServers } from './support/servers/two-servers.ts';
import { WebhookServer } from './support/network/webhook-server.ts';
import {
  betaWidgets,
  convertedDefinition,
  convertWidgets,
  newBetaWidget,
  newV1Widget,
} from './support/definitions/widget-conversion.ts';
import { definitions, establish, widgetDefinitionPath, widgets } from './support/definitions/widget-definition.ts';

const gadgets = '/apis/shop.example.com/v1/gadgets';
const gadgetDefinitionPath = `${definitions}/gadgets.shop.example.com`;

describeTwoServers('two replicas, while one still stores objects in the former storage version', (servers) => {
  let folder: string;
  let hooks: WebhookServer;
  let ca: string;
  /**
   * `ahead` is the replica that stores objects in the new version; `behind` has not read the change of the storage
   * version yet.
   */
  let ahead: TestServer;
  let behind: TestServer;
  let catchUp: (() => void) | undefined;

  const clientConfig = (path: string): object => ({ url: `${hooks.origin}${path}`, caBundle: ca });
  const widgetDefinition = (storage: 'v1' | 'v1beta1'): { readonly spec: object } =>
    convertedDefinition({ storage, clientConfig: clientConfig('/convert') });

  /**
   * Returns the definition of a second kind. A replica handles one definition after the other, so a webhook that does
   * not respond for this kind delays the definition of Widget.
   */
  function gadgetDefinition(storage: 'v1' | 'v1beta1'): object {
    const { spec, ...rest } = convertedDefinition({ storage, clientConfig: clientConfig('/gadgets') });
    const names = { plural: 'gadgets', kind: 'Gadget' };
    return { ...rest, metadata: { name: 'gadgets.shop.example.com' }, spec: { ...spec, names } };
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-conversion-'));
    const certificate = await issuerCertificate(folder);
    ca = Buffer.from(certificate.ca).toString('base64');
    hooks = await WebhookServer.start(certificate.pem);
  });

  after(async () => {
    await hooks?.stop();
    await rm(folder, { recursive: true });
  });

  beforeEach(async () => {
    hooks.on('/convert', convertWidgets);
    const [first] = servers;
    if (first === undefined) throw new Error('there is no server');
    await establish(first, widgetDefinition('v1'));
    await establish(first, gadgetDefinition('v1'));
    // The first server has established both kinds. The other server may not serve them yet, so the test waits for it.
    for (const server of servers) for (const path of [widgets, gadgets]) await eventuallyAnswers(server, path, 200);
    await first.create(gadgets, { ...newV1Widget('g', 'a', 'b'), kind: 'Gadget' });
    for (const server of servers) await eventuallyAnswers(server, `${gadgets}/g`, 200);
    await holdOneBack(first);
    await ahead.patch(widgetDefinitionPath, widgetDefinition('v1beta1'));
    await eventually(async () =>
      ((await ahead.get(widgetDefinitionPath)).body.status.storedVersions as string[]).includes('v1beta1'),
    );
  });

  afterEach(async () => {
    catchUp?.();
    hooks.on('/convert', convertWidgets);
    for (const path of [widgetDefinitionPath, gadgetDefinitionPath]) {
      await servers[0]?.delete(path);
      for (const server of servers) await eventuallyAnswers(server, path, 404);
    }
    hooks.reset();
  });

  /** Makes both replicas request the conversion of the gadget, and lets the webhook respond to only one of them. */
  async function holdOneBack(first: TestServer): Promise<void> {
    const held: (() => void)[] = [];
    hooks.on('/gadgets', async (request) => {
      await new Promise<void>((resolve) => held.push(resolve));
      return convertWidgets(request);
    });
    await first.patch(gadgetDefinitionPath, gadgetDefinition('v1beta1'));
    await eventually(() => held.length === 2);
    held[0]?.();
    let found: TestServer | undefined;
    await eventually(async () => {
      for (const server of servers)
        if ((await server.get(`${gadgets.replace('v1', 'v1beta1')}/g`)).status === 200) found = server;
      return found !== undefined;
    });
    if (found === undefined) throw new Error('no replica has changed the storage version');
    ahead = found;
    behind = servers.find((each) => each !== found) ?? found;
    catchUp = () => held[1]?.();
  }

  /** Waits until both replicas return the object `name` in both versions. Expects `first` and `last` in its spec. */
  async function expectShown(name: string, first: string, last: string): Promise<void> {
    for (const server of servers) {
      const paths = [`${widgets}/${name}`, `${betaWidgets}/${name}`];
      const specs = await eventually(async () => {
        const answers = await Promise.all(paths.map(async (path) => server.get(path)));
        return answers.every(({ status }) => status === 200) && answers.map(({ body }) => body.spec as object);
      });
      expect(specs).to.deep.equal([{ first, last }, { name: `${first} ${last}` }]);
    }
  }

  it('each replica returns the writes of both replicas in both versions, also in watches [slow]', async () => {
    const watches = await Promise.all(
      servers.map(async (server) => server.watch(`${betaWidgets}?watch=true&resourceVersion=0`)),
    );
    await behind.create(widgets, newV1Widget('a', 'Ann', 'Lee'));
    await expectShown('a', 'Ann', 'Lee');
    await ahead.create(betaWidgets, newBetaWidget('b', 'Bob Ray'));
    await expectShown('b', 'Bob', 'Ray');
    expect((await ahead.patch(`${widgets}/a`, { spec: { last: 'May' } })).status).to.equal(200);
    await eventually(async () => (await behind.get(`${widgets}/a`)).body.spec.last === 'May');
    expect((await behind.patch(`${betaWidgets}/b`, { spec: { name: 'Bob Fox' } })).status).to.equal(200);
    await eventually(async () => (await ahead.get(`${betaWidgets}/b`)).body.spec.name === 'Bob Fox');
    for (const watch of watches) {
      await watch.count(4);
      const names = watch.events.map(({ object }: { readonly object: { readonly spec: object } }) => object.spec);
      expect(names).to.deep.equal(['Ann Lee', 'Bob Ray', 'Ann May', 'Bob Fox'].map((name) => ({ name })));
    }
    catchUp?.();
    await expectShown('a', 'Ann', 'May');
    await expectShown('b', 'Bob', 'Fox');
  });

  it('the replica with the new storage version returns 503 for the kind while it cannot convert a write of the other [slow]', async () => {
    await behind.create(widgets, newV1Widget('a', 'Ann', 'Lee'));
    await expectShown('a', 'Ann', 'Lee');
    hooks.on('/convert', () => ({ result: { status: 'Failed', message: 'out of order' } }));
    await behind.create(widgets, newV1Widget('b', 'Bob', 'Ray'));
    const refused = await eventually(async () => {
      const answer = await ahead.get(`${betaWidgets}/a`);
      return answer.status === 503 && answer.text.includes('out of order') && answer;
    });
    expect(refused.body.message).to.include('CustomResourceDefinition "widgets.shop.example.com"');
    expect((await behind.get(`${widgets}/b`)).status).to.equal(200);
    hooks.on('/convert', convertWidgets);
    await expectShown('b', 'Bob', 'Ray');
    await expectShown('a', 'Ann', 'Lee');
  });
});

/** Waits until the server responds to a path with the given status. */
async function eventuallyAnswers(server: TestServer, path: string, status: number): Promise<void> {
  await eventually(async () => (await server.get(path)).status === status);
}
