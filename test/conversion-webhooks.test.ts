import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { issuerCertificate } from './support/issuer-certificate.ts';
import { expectRefusal } from './support/refusal.ts';
import { TestServer } from './support/test-server.ts';
import { WebhookServer } from './support/webhook-server.ts';
import {
  establish,
  newWidget,
  widgetDefinition,
  widgetDefinitionPath,
  widgets,
  widgetVersion,
} from './support/widget-definition.ts';

const beta = widgets.replace('/v1/', '/v1beta1/');
const text = { type: 'string' } as const;
const v1Spec = { type: 'object', properties: { first: text, last: text } } as const;
const betaSpec = { type: 'object', properties: { name: text } } as const;

interface Converted {
  readonly apiVersion: string;
  readonly metadata: { readonly labels?: object; readonly name: string };
  readonly spec: { readonly name?: string; readonly first?: string; readonly last?: string };
}

/** `spec.name` of v1beta1 is `spec.first` and `spec.last` of v1. */
function convertedTo(apiVersion: string, object: Converted): object {
  const { name = '', first = '', last = '' } = object.spec;
  const [before = '', after = ''] = name.split(' ');
  const spec = apiVersion.endsWith('/v1') ? { first: before, last: after } : { name: `${first} ${last}` };
  return { ...object, apiVersion, spec };
}

function convertAll(request: { objects: readonly Converted[]; desiredAPIVersion: string }): object {
  const convertedObjects = request.objects.map((object) => convertedTo(request.desiredAPIVersion, object));
  return { convertedObjects, result: { status: 'Success' } };
}

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

  const versions = (storage: string): readonly object[] => [
    widgetVersion({
      storage: storage === 'v1',
      schema: { openAPIV3Schema: { type: 'object', properties: { spec: v1Spec } } },
      subresources: undefined,
      selectableFields: undefined,
    }),
    widgetVersion({
      name: 'v1beta1',
      storage: storage === 'v1beta1',
      schema: { openAPIV3Schema: { type: 'object', properties: { spec: betaSpec } } },
      subresources: undefined,
      selectableFields: undefined,
    }),
  ];
  const definition = (storage = 'v1', path = '/convert'): object => {
    const clientConfig = { url: `${hooks.origin}${path}`, caBundle: ca };
    const conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } };
    return widgetDefinition({ versions: versions(storage), conversion });
  };

  beforeEach(async () => {
    hooks.on('/convert', convertAll);
    await establish(server, definition());
    hooks.asked.length = 0;
  });

  afterEach(async () => {
    hooks.on('/convert', convertAll);
    await server.delete(widgets);
    await server.delete(widgetDefinitionPath);
    hooks.reset();
  });

  const newBeta = (name: string, full: string): object => ({
    ...newWidget(name),
    apiVersion: 'shop.example.com/v1beta1',
    spec: { name: full },
  });

  it('an object that is written in one version is read, listed, watched, patched and applied in the other', async () => {
    const created = await server.create(beta, newBeta('a', 'Ann Lee'));
    expect(created).to.deep.include({ apiVersion: 'shop.example.com/v1beta1', spec: { name: 'Ann Lee' } });
    expect((await server.get(`${widgets}/a`)).body.spec).to.deep.equal({ first: 'Ann', last: 'Lee' });
    expect((await server.get(`${beta}/a`)).body.spec).to.deep.equal({ name: 'Ann Lee' });
    const watch = await server.watch(`${beta}?watch=true&resourceVersion=0`);
    await watch.count(1);
    await server.patch(`${widgets}/a`, { spec: { last: 'May' } });
    await watch.count(2);
    expect(watch.events.map(({ object }: { object: Converted }) => object.spec.name)).to.deep.equal([
      'Ann Lee',
      'Ann May',
    ]);
    watch.close();
    const applied = { ...newBeta('a', 'Eve May') };
    const answer = await server.patch(`${beta}/a?fieldManager=me&force=true`, applied, {
      type: 'application/apply-patch+yaml',
    });
    expect([answer.status, answer.body.spec]).to.deep.equal([200, { name: 'Eve May' }]);
    expect((await server.get(widgets)).body.items[0].spec).to.deep.equal({ first: 'Eve', last: 'May' });
    expect((await server.delete(`${beta}/a`)).status).to.equal(200);
  });

  it('a list is converted in batches, and what was converted once is not asked for again', async () => {
    for (let i = 0; i < 150; i += 1)
      await server.create(widgets, { ...newWidget(`w${i}`), spec: { first: `a${i}`, last: 'b' } });
    expect(hooks.asked).to.have.length(0);
    const { body } = await server.get(beta);
    expect(body.items).to.have.length(150);
    expect(hooks.at('/convert').map(({ objects }) => objects.length)).to.deep.equal([100, 50]);
    await server.get(beta);
    await server.get(`${beta}/w7`);
    expect(hooks.asked).to.have.length(2);
  });

  it('labels and annotations may change, name, uid and the rest of metadata may not', async () => {
    await server.create(widgets, { ...newWidget('a'), spec: { first: 'Ann', last: 'Lee' } });
    const changed = (metadata: object): void =>
      hooks.on('/convert', (request) => ({
        result: { status: 'Success' },
        convertedObjects: request.objects.map((object: Converted) => {
          const converted = convertedTo(request.desiredAPIVersion, object) as Converted;
          return { ...converted, metadata: { ...converted.metadata, ...metadata } };
        }),
      }));
    changed({ name: 'b' });
    expectRefusal(await server.get(`${beta}/a`), {
      reason: 'InternalError',
      message:
        /conversion webhook for shop\.example\.com\/v1, Kind=Widget failed: invalid converted object at index 0: must have the same name: a != b/,
    });
    changed({ labels: { converted: 'yes' }, finalizers: ['example.com/x'], generation: 99 });
    const { metadata } = (await server.get(`${beta}/a`)).body;
    expect(metadata).to.deep.include({ name: 'a', labels: { converted: 'yes' }, generation: 1 });
    expect(metadata).not.to.have.property('finalizers');
  });

  const useless: readonly (readonly [what: string, answer: object, message: RegExp])[] = [
    ['says that it failed', { result: { status: 'Failed', message: 'cannot do that' } }, /failed: cannot do that$/],
    ['says nothing', {}, /response\.result\.status was '', not 'Success'/],
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
  ];
  for (const [what, answer, message] of useless) {
    it(`a webhook that ${what} fails reads in the other version, writes in it, and nothing else`, async () => {
      await server.create(widgets, { ...newWidget('a'), spec: { first: 'Ann', last: 'Lee' } });
      hooks.on('/convert', () => answer);
      expectRefusal(await server.get(`${beta}/a`), { reason: 'InternalError', message });
      expectRefusal(await server.get(beta), { reason: 'InternalError' });
      expectRefusal(await server.post(beta, newBeta('b', 'Bob Lee')), { reason: 'InternalError' });
      expect((await server.get(`${widgets}/a`)).status).to.equal(200);
      expect((await server.patch(`${widgets}/a`, { spec: { last: 'May' } })).status).to.equal(200);
    });
  }

  it('a new address of the webhook counts for later conversions', async () => {
    await server.create(widgets, { ...newWidget('a'), spec: { first: 'Ann', last: 'Lee' } });
    hooks.on('/other', convertAll);
    await server.patch(widgetDefinitionPath, { spec: (definition('v1', '/other') as { spec: object }).spec });
    let last = 0;
    // The definition is served soon after its write. Only what was not converted yet is asked for.
    await eventually(async () => {
      last += 1;
      await server.patch(`${widgets}/a`, { spec: { last: `L${last}` } });
      await server.get(`${beta}/a`);
      return hooks.asked.at(-1)?.path === '/other';
    });
  });

  it('objects that are stored in a former storage version are converted when the kind opens', async () => {
    await server.create(widgets, { ...newWidget('a'), spec: { first: 'Ann', last: 'Lee' } });
    await server.patch(widgetDefinitionPath, { spec: (definition('v1beta1') as { spec: object }).spec });
    await eventually(async () => (await server.get(`${beta}/a`)).body?.spec?.name === 'Ann Lee');
    // While the kind opens again, it answers 503.
    const read = await eventually(async () => {
      const answer = await server.get(`${widgets}/a`);
      return answer.status !== 503 && answer;
    });
    expect([read.status, read.body.spec]).to.deep.equal([200, { first: 'Ann', last: 'Lee' }]);
  });
});
