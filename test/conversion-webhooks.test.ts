import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { writeEncryptionConfig } from './support/servers/encryption-file.ts';
import { freePort } from './support/network/free-port.ts';
import { issuerCertificate } from './support/logins/issuer-certificate.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import { WebhookServer } from './support/network/webhook-server.ts';
import type { Webhook } from './support/network/webhook-server.ts';
import {
  betaWidgets,
  convertedDefinition,
  convertWidget,
  convertWidgets,
  newBetaWidget,
  newV1Widget,
} from './support/definitions/widget-conversion.ts';
import type { ConvertedWidget } from './support/definitions/widget-conversion.ts';
import type { WatchReader } from './support/network/watch-reader.ts';
import { establish, widgetDefinitionPath, widgets } from './support/definitions/widget-definition.ts';

describe('conversion webhooks of definitions [compat versions]', () => {
  let folder: string;
  let ca: string;
  let hooks: WebhookServer;
  let server: TestServer;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-conversion-'));
    const certificate = await issuerCertificate(folder);
    ca = Buffer.from(certificate.ca).toString('base64');
    hooks = await WebhookServer.start(certificate.pem);
    server = await TestServer.start();
  });

  after(async () => {
    await server.stop();
    await hooks.stop();
    await rm(folder, { recursive: true });
  });

  const definition = (storage: 'v1' | 'v1beta1' = 'v1', path = '/convert'): { readonly spec: object } =>
    convertedDefinition({ storage, clientConfig: { url: `${hooks.origin}${path}`, caBundle: ca } });

  beforeEach(async () => {
    hooks.on('/convert', convertWidgets);
    await establish(server, definition());
    hooks.asked.length = 0;
  });

  afterEach(async () => {
    hooks.on('/convert', convertWidgets);
    await server.delete(widgets);
    await server.delete(widgetDefinitionPath);
    await eventually(async () => (await server.get(widgetDefinitionPath)).status === 404);
    hooks.reset();
  });

  it('an object that is written in one version is read, listed, watched, patched and applied in the other [spec operators-conversion]', async () => {
    const created = await server.create(betaWidgets, newBetaWidget('a', 'Ann Lee'));
    expect(created).to.deep.include({ apiVersion: 'shop.example.com/v1beta1', spec: { name: 'Ann Lee' } });
    expect((await server.get(`${widgets}/a`)).body.spec).to.deep.equal({ first: 'Ann', last: 'Lee' });
    expect((await server.get(`${betaWidgets}/a`)).body.spec).to.deep.equal({ name: 'Ann Lee' });
    const watch = await server.watch(`${betaWidgets}?watch=true&resourceVersion=0`);
    await watch.count(1);
    await server.patch(`${widgets}/a`, { spec: { last: 'May' } });
    await watch.count(2);
    expect(watch.events.map(({ object }: { object: ConvertedWidget }) => object.spec.name)).to.deep.equal([
      'Ann Lee',
      'Ann May',
    ]);
    watch.close();
    const applied = newBetaWidget('a', 'Eve May');
    const answer = await server.patch(`${betaWidgets}/a?fieldManager=me&force=true`, applied, {
      type: 'application/apply-patch+yaml',
    });
    expect([answer.status, answer.body.spec]).to.deep.equal([200, { name: 'Eve May' }]);
    expect((await server.get(widgets)).body.items[0].spec).to.deep.equal({ first: 'Eve', last: 'May' });
    expect((await server.delete(`${betaWidgets}/a`)).status).to.equal(200);
  });

  it('a list is converted in batches, and an object that was converted once is not sent again [slow] [spec operators-conversion-batches]', async () => {
    for (let i = 0; i < 150; i += 1) await server.create(widgets, newV1Widget(`w${i}`, `a${i}`, 'b'));
    expect(hooks.asked).to.have.length(0);
    const { body } = await server.get(betaWidgets);
    expect(body.items).to.have.length(150);
    expect(hooks.at('/convert').map(({ objects }) => objects.length)).to.deep.equal([100, 50]);
    await server.get(betaWidgets);
    await server.get(`${betaWidgets}/w7`);
    expect(hooks.asked).to.have.length(2);
  });

  it('a watch sends more objects and changes than one request to the webhook converts, each once', async () => {
    const create = async (prefix: string): Promise<void> => {
      for (let i = 0; i < 150; i += 1) await server.create(widgets, newV1Widget(`${prefix}${i}`, `${prefix}${i}`, 'b'));
    };
    const namesIn = (watch: WatchReader): readonly string[] =>
      watch.events.flatMap(({ type, object }) => (type === 'BOOKMARK' ? [] : [object.metadata.name]));
    const named = (prefix: string): readonly string[] => Array.from({ length: 150 }, (_, i) => `${prefix}${i}`);
    await create('a');
    const { resourceVersion } = (await server.get(widgets)).body.metadata;
    const initial = await server.watch(
      `${betaWidgets}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    );
    await initial.count(151);
    expect(namesIn(initial)).to.have.members(named('a'));
    expect(initial.events.at(-1)?.object.metadata.annotations).to.deep.equal({ 'k8s.io/initial-events-end': 'true' });
    initial.close();
    await create('b');
    const changes = await server.watch(`${betaWidgets}?watch=true&resourceVersion=${resourceVersion}`);
    await changes.count(150);
    expect(namesIn(changes)).to.deep.equal(named('b'));
    changes.close();
  });

  it('a watch sends a change that arrives while the webhook converts the initial objects', async () => {
    await server.create(widgets, newV1Widget('a', 'Ann', 'Lee'));
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    hooks.on('/convert', async (request) => {
      await held;
      return convertWidgets(request);
    });
    const watch = await server.watch(`${betaWidgets}?watch=true&resourceVersion=0`);
    await eventually(() => hooks.asked.length === 1);
    await server.create(widgets, newV1Widget('b', 'Bob', 'May'));
    release();
    await watch.count(2);
    expect(watch.events.map(({ type, object }) => `${type} ${object.spec.name}`)).to.deep.equal([
      'ADDED Ann Lee',
      'ADDED Bob May',
    ]);
    watch.close();
  });

  it('a webhook may change labels and annotations, but not name, uid and other metadata [spec operators-conversion-results]', async () => {
    await server.create(widgets, newV1Widget('a', 'Ann', 'Lee'));
    const changed = (metadata: object): void =>
      hooks.on('/convert', (request) => ({
        result: { status: 'Success' },
        convertedObjects: request.objects.map((object: ConvertedWidget) => {
          const converted = convertWidget(request.desiredAPIVersion, object) as ConvertedWidget;
          return { ...converted, metadata: { ...converted.metadata, ...metadata } };
        }),
      }));
    changed({ name: 'b' });
    expectRefusal(await server.get(`${betaWidgets}/a`), {
      reason: 'InternalError',
      message:
        /conversion webhook for shop\.example\.com\/v1, Kind=Widget failed: invalid converted object at index 0: must have the same name: a != b/,
    });
    changed({ labels: { converted: 'yes' }, finalizers: ['example.com/x'], generation: 99 });
    const { metadata } = (await server.get(`${betaWidgets}/a`)).body;
    expect(metadata).to.deep.include({ name: 'a', labels: { converted: 'yes' }, generation: 1 });
    expect(metadata).not.to.have.property('finalizers');
  });

  const useless: readonly (readonly [what: string, answer: object | Webhook, message: RegExp])[] = [
    ['says that it failed', { result: { status: 'Failed', message: 'cannot do that' } }, /failed: cannot do that$/],
    ['returns an empty response', {}, /response\.result\.status was '', not 'Success'/],
    [
      'returns too few objects',
      { result: { status: 'Success' }, convertedObjects: [] },
      /returned 0 objects, expected 1/,
    ],
    ['returns another uid', { uid: 'mine', result: { status: 'Success' } }, /expected response\.uid=".*", got "mine"/],
    [
      'returns another version',
      {
        result: { status: 'Success' },
        convertedObjects: [{ apiVersion: 'v9', kind: 'Widget', metadata: { name: 'a' } }],
      },
      /invalid groupVersion \(expected shop\.example\.com\/v1beta1, received v9\)/,
    ],
    ['returns no object', { result: { status: 'Success' }, convertedObjects: ['x'] }, /index 0: it is no object$/],
    [
      'redirects',
      (_request, response) => void response.writeHead(307, { location: 'https://example.com/' }).end(),
      /redirects to "https:\/\/example\.com\/", and redirects are not followed/,
    ],
    [
      'returns 5 MB',
      (_request, response) => void response.end(Buffer.alloc(5_000_000, 'x')),
      /the response is larger than 4194304 bytes/,
    ],
    ['ends the connection', (_request, response) => void response.destroy(), /: EOF$/],
  ];
  for (const [what, answer, message] of useless) {
    const tier = what === 'returns 5 MB' ? ' [slow]' : '';
    it(`when a webhook ${what}, requests fail only in the version that is not stored [spec operators-conversion-failures]${tier}`, async () => {
      await server.create(widgets, newV1Widget('a', 'Ann', 'Lee'));
      hooks.on('/convert', typeof answer === 'function' ? (answer as Webhook) : () => answer);
      expectRefusal(await server.get(`${betaWidgets}/a`), { reason: 'InternalError', message });
      expectRefusal(await server.get(betaWidgets), { reason: 'InternalError' });
      expectRefusal(await server.post(betaWidgets, newBetaWidget('b', 'Bob Lee')), { reason: 'InternalError' });
      expect((await server.get(`${widgets}/b`)).status).to.equal(404);
      expect((await server.get(`${widgets}/a`)).status).to.equal(200);
      expect((await server.patch(`${widgets}/a`, { spec: { last: 'May' } })).status).to.equal(200);
    });
  }

  it('writes in the storage version succeed while the webhook fails, even if a field manager has applied fields in the other version [spec operators-conversion-failures]', async () => {
    const options = { type: 'application/apply-patch+yaml' };
    await server.patch(`${betaWidgets}/a?fieldManager=ann`, newBetaWidget('a', 'Ann Lee'), options);
    hooks.on('/convert', (_request, response) => void response.destroy());
    for (const send of [
      () => server.patch(`${widgets}/a`, { spec: { last: 'May' } }),
      async () => server.put(`${widgets}/a`, (await server.get(`${widgets}/a`)).body),
      () => server.patch(`${widgets}/a?fieldManager=bob&force=true`, newV1Widget('a', 'Eve', 'Fox'), options),
    ]) {
      const { status, text } = await send();
      expect(status, text).to.equal(200);
    }
    const { spec, metadata } = (await server.get(`${widgets}/a`)).body;
    expect(spec).to.deep.equal({ first: 'Eve', last: 'Fox' });
    expect(metadata.managedFields[0]).to.deep.include({ manager: 'ann', apiVersion: 'shop.example.com/v1beta1' });
    hooks.on('/convert', convertWidgets);
    await server.patch(`${widgets}/a`, { spec: { last: 'Zed' } });
    const managers = (await server.get(`${widgets}/a`)).body.metadata.managedFields.map(
      ({ manager }: { manager: string }) => manager,
    );
    expect(managers).not.to.include('ann');
  });

  it('converted objects whose labels have a wrong type are refused in reads and writes', async () => {
    await server.create(widgets, newV1Widget('a', 'Ann', 'Lee'));
    hooks.on('/convert', (request: Parameters<typeof convertWidgets>[0]) => {
      const [object] = request.objects as readonly [ConvertedWidget];
      const converted = convertWidget(request.desiredAPIVersion, {
        ...object,
        metadata: { ...object.metadata, labels: { a: 5 } },
      });
      return { result: { status: 'Success' }, convertedObjects: [converted] };
    });
    const message = /the conversion returned invalid metadata: metadata\.labels\["a"\]: Invalid value: number/;
    expectRefusal(await server.get(`${betaWidgets}/a`), { reason: 'InternalError', message });
    expectRefusal(await server.post(betaWidgets, newBetaWidget('b', 'Bob Lee')), { reason: 'Invalid', message });
    expect((await server.get(`${widgets}/b`)).status).to.equal(404);
  });

  it('conversions fail with the reason when the webhook does not run, or has a certificate of another authority', async () => {
    await server.create(widgets, newV1Widget('a', 'Ann', 'Lee'));
    const dead = await freePort();
    const clientConfigs: readonly (readonly [clientConfig: object, message: RegExp])[] = [
      [{ url: `https://127.0.0.1:${dead}/x`, caBundle: ca }, /connect: connection refused$/],
      [{ url: `${hooks.origin}/convert`, caBundle: null }, /x509: certificate signed by unknown authority$/],
    ];
    let last = 0;
    for (const [clientConfig, message] of clientConfigs) {
      const changed = await server.patch(widgetDefinitionPath, { spec: { conversion: { webhook: { clientConfig } } } });
      expect(changed.status, changed.text).to.equal(200);
      // The change of the definition takes effect soon after its write. An object that was converted before is not
      // converted again, so each attempt changes the object.
      await eventually(async () => {
        last += 1;
        await server.patch(`${widgets}/a`, { spec: { last: `L${last}` } });
        return message.test((await server.get(`${betaWidgets}/a`)).body.message);
      });
      expect((await server.get(`${widgets}/a`)).status).to.equal(200);
    }
  });

  it('a new address of the webhook is used for later conversions', async () => {
    await server.create(widgets, newV1Widget('a', 'Ann', 'Lee'));
    hooks.on('/other', convertWidgets);
    await server.patch(widgetDefinitionPath, { spec: definition('v1', '/other').spec });
    let last = 0;
    // The change of the definition takes effect soon after its write. An object that was converted before is not sent
    // to the webhook again, so each attempt changes the object.
    await eventually(async () => {
      last += 1;
      await server.patch(`${widgets}/a`, { spec: { last: `L${last}` } });
      await server.get(`${betaWidgets}/a`);
      return hooks.asked.at(-1)?.path === '/other';
    });
  });

  it('objects in a former storage version are readable in both versions after a change of the storage version', async () => {
    await server.create(widgets, newV1Widget('a', 'Ann', 'Lee'));
    await server.patch(widgetDefinitionPath, { spec: definition('v1beta1').spec });
    await eventually(async () => (await server.get(`${betaWidgets}/a`)).body?.spec?.name === 'Ann Lee');
    // While the server loads the kind again, requests for the kind get 503.
    const read = await eventually(async () => {
      const answer = await server.get(`${widgets}/a`);
      return answer.status !== 503 && answer;
    });
    expect([read.status, read.body.spec]).to.deep.equal([200, { first: 'Ann', last: 'Lee' }]);
  });

  it('objects in a former storage version have the same content in both versions after a change of their encryption key [slow]', async () => {
    const start = async (...keys: readonly string[]): Promise<TestServer> => {
      const path = join(folder, `${keys.join('-')}.yaml`);
      const encryptionConfig = await writeEncryptionConfig(path, keys, ['widgets.shop.example.com']);
      return TestServer.start({ database: `sqlite:${join(folder, 'data.db')}`, encryptionConfig });
    };
    let encrypted = await start('one');
    try {
      await establish(encrypted, definition());
      await encrypted.create(widgets, newV1Widget('a', 'Ann', 'Lee'));
      await encrypted.patch(widgetDefinitionPath, { spec: definition('v1beta1').spec });
      await encrypted.stop();
      encrypted = await start('two', 'one');
      const watch = await encrypted.watch(`${betaWidgets}?watch=true&resourceVersion=0`);
      await watch.count(1);
      const { text } = await encrypted.post('/reencrypt', undefined);
      expect(JSON.parse(text.trim())).to.deep.include({ rewritten: 1, unreadable: 0, done: true });
      await watch.count(2);
      const specs = watch.events.map(({ object }: { object: ConvertedWidget }) => object.spec);
      expect(specs).to.deep.equal([{ name: 'Ann Lee' }, { name: 'Ann Lee' }]);
      expect((await encrypted.get(`${widgets}/a`)).body.spec).to.deep.equal({ first: 'Ann', last: 'Lee' });
    } finally {
      await encrypted.stop();
    }
  });
});
