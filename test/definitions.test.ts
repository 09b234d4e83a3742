import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { largeDefinition } from './support/definitions/large-definition.ts';
import { TestServer } from './support/servers/test-server.ts';
import {
  conditionOf,
  definitions,
  establish,
  established,
  newWidget,
  widgetDefinition,
  widgetDefinitionName,
  widgetDefinitionPath as path,
  widgets,
  widgetVersion,
} from './support/definitions/widget-definition.ts';

describe('CustomResourceDefinitions [compat definitions]', () => {
  let server: TestServer;

  beforeEach(async () => {
    server = await TestServer.start();
  });

  afterEach(() => server.stop());

  const gone = async (url: string): Promise<boolean> => (await server.get(url)).status === 404;

  it('serve their kind as soon as they are Established', async () => {
    await establish(server);
    const { body } = await server.get(path);
    expect(body.status.acceptedNames).to.deep.equal({
      plural: 'widgets',
      singular: 'widget',
      kind: 'Widget',
      listKind: 'WidgetList',
      shortNames: ['wd'],
    });
    expect(body.status.storedVersions).to.deep.equal(['v1']);
    expect(body.metadata.finalizers).to.deep.equal(['customresourcecleanup.apiextensions.k8s.io']);
    expect(body.metadata.generation).to.equal(1);
    const conditions = (body.status.conditions as { type: string; status: string }[]).map((each) => [
      each.type,
      each.status,
    ]);
    expect(conditions).to.deep.equal([
      ['NamesAccepted', 'True'],
      ['Established', 'True'],
    ]);
    const created = await server.create(widgets, newWidget('a'));
    expect(created.spec).to.deep.equal({ size: 3, color: 'red' });
  });

  it('get the default names in place of empty ones', async () => {
    await establish(
      server,
      widgetDefinition({ names: { plural: 'widgets', kind: 'Widget', singular: '', listKind: '' } }),
    );
    const { body } = await server.get(path);
    expect(body.status.acceptedNames).to.include({ singular: 'widget', listKind: 'WidgetList' });
  });

  it('prune, default and validate the objects of their kind', async () => {
    await establish(server);
    const answer = await server.post(widgets, newWidget('a', { unknown: 1, port: 'http', extra: { any: [1] } }));
    expect(answer.headers['warning']).to.equal('299 - "unknown field \\"spec.unknown\\""');
    expect(answer.body.spec).to.deep.equal({ size: 3, color: 'red', port: 'http', extra: { any: [1] } });
    const refused = await server.post(widgets, newWidget('b', { size: 0, port: 1.5, tags: ['x', 'x'] }));
    expect(refused.status).to.equal(422);
    const fields = (refused.body.details.causes as { field: string }[]).map(({ field }) => field);
    expect(fields).to.have.members(['spec.size', 'spec.port', 'spec.tags[1]']);
  });

  it('store status only through the subresource status, and allow field selectors for selectableFields', async () => {
    await establish(server);
    const { status } = await server.create(widgets, { ...newWidget('a'), status: { phase: 'Ready' } });
    expect(status).to.equal(undefined);
    await server.patch(`${widgets}/a/status`, { status: { phase: 'Ready' } });
    expect((await server.get(`${widgets}/a`)).body.status).to.deep.equal({ phase: 'Ready' });
    await server.create(widgets, newWidget('b', { color: 'blue' }));
    const { body } = await server.get(`${widgets}?fieldSelector=spec.color%3Dblue`);
    expect((body.items as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name)).to.deep.equal(['b']);
  });

  const schemaOf = (size: object): object => ({
    openAPIV3Schema: {
      type: 'object',
      properties: { spec: { type: 'object', properties: { size, color: { type: 'string' } } } },
    },
  });

  it('allow changes of the schema while objects exist, without ending watches', async () => {
    await establish(server);
    await server.create(widgets, newWidget('a'));
    const watch = await server.watch(`${widgets}?watch=true&resourceVersion=${await server.revision(widgets)}`);
    const versions = [widgetVersion({ schema: schemaOf({ type: 'integer', maximum: 5 }) })];
    expect((await server.patch(path, { spec: { versions } })).status).to.equal(200);
    await eventually(async () => (await server.patch(`${widgets}/a?dryRun=All`, { spec: { size: 6 } })).status === 422);
    await server.patch(`${widgets}/a`, { spec: { size: 4 } });
    const [event] = await watch.count(1);
    expect(event?.object.spec).to.deep.equal({ size: 4, color: 'red' });
    expect(watch.ended).to.equal(false);
  });

  it('allow the deletion of objects that a newer schema refuses', async () => {
    await establish(server, widgetDefinition());
    const owner = await server.create(widgets, newWidget('outgrown-owner', { size: 3 }));
    const { apiVersion, kind, metadata } = owner;
    const ownerReferences = [{ apiVersion, kind, name: metadata.name, uid: metadata.uid }];
    await server.create(
      widgets,
      newWidget('outgrown', { size: 3 }, { ownerReferences, finalizers: ['example.com/f'] }),
    );
    const spec = { type: 'object', properties: { size: { type: 'integer', minimum: 5 } } };
    const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
    await server.patch(path, { spec: { versions: [widgetVersion({ schema, selectableFields: [] })] } });
    const refused = (): Promise<boolean> =>
      server.post(`${widgets}?dryRun=All`, newWidget('small', { size: 3 })).then(({ status }) => status === 422);
    await eventually(refused);
    expect((await server.patch(`${widgets}/outgrown`, { spec: { size: 4 } })).status).to.equal(422);
    await server.delete(`${widgets}/outgrown-owner?propagationPolicy=Orphan`);
    await eventually(async () => (await server.get(`${widgets}/outgrown-owner`)).status === 404);
    expect((await server.get(`${widgets}/outgrown`)).body.metadata).not.to.have.property('ownerReferences');
    await server.delete(`${widgets}/outgrown`);
    await server.patch(`${widgets}/outgrown`, { metadata: { finalizers: null } });
    expect((await server.get(`${widgets}/outgrown`)).status).to.equal(404);
  });

  it('with a very large schema are served, and their objects can be written [slow]', async () => {
    await server.create(definitions, largeDefinition(10_505, 72));
    await established(server, widgetDefinitionName);
    const spec = { f0: { f0: { f0: { f5: 'text', f6: 3, f7: true, unknown: 1 } } } };
    const { body } = await server.post(widgets, { ...newWidget('a'), spec });
    expect(body.spec).to.deep.equal({ f0: { f0: { f0: { f5: 'text', f6: 3, f7: true } } } });
    const refused = await server.post(widgets, { ...newWidget('b'), spec: { f0: { f3: [{ f0: { f6: 'three' } }] } } });
    expect(refused.body.details.causes[0].field).to.equal('spec.f0.f3[0].f0.f6');
  });

  it('cannot serve a kind (503) while another kind has one of its names; deleting the definition of the unserved kind still deletes its objects', async () => {
    await establish(server);
    await server.create(widgets, newWidget('a'));
    const names = { plural: 'gadgets', kind: 'Gadget', singular: 'gadget' };
    await server.create(definitions, {
      ...widgetDefinition({ names }),
      metadata: { name: 'gadgets.shop.example.com' },
    });
    await established(server, 'gadgets.shop.example.com');
    await server.patch(path, { spec: { names: { singular: 'gadget' } } });
    await eventually(async () => (await conditionOf(server, widgetDefinitionName, 'Established'))?.status === 'False');
    const absent = await server.get(widgets);
    expect(absent.status).to.equal(503);
    expect(absent.body.message).to.include(`CustomResourceDefinition "${widgetDefinitionName}" is not Established`);
    await server.patch(path, { spec: { names: { singular: 'widget' } } });
    await established(server, widgetDefinitionName);
    expect((await server.get(widgets)).body.total).to.equal(1);
    await server.patch(path, { spec: { names: { singular: 'gadget' } } });
    await eventually(async () => (await conditionOf(server, widgetDefinitionName, 'Established'))?.status === 'False');
    await server.delete(path);
    await eventually(() => gone(path));
    await establish(server);
    expect((await server.get(widgets)).body.total).to.equal(0);
  });

  it('keep their objects, and end watches, when their selectable fields and versions change', async () => {
    await establish(server);
    await server.create(widgets, newWidget('a'));
    const watch = await server.watch(`${widgets}?watch=true`);
    const changed = widgetVersion({ name: 'v2', selectableFields: [{ jsonPath: '.spec.size' }] });
    const old = widgetVersion({ served: false, storage: false });
    expect((await server.patch(path, { spec: { versions: [changed, old] } })).status).to.equal(200);
    const moved = widgets.replace('/v1/', '/v2/');
    await eventually(async () => (await server.get(`${moved}?fieldSelector=spec.size%3D3`)).body.total === 1);
    await watch.end();
    const { body } = await server.patch(`${moved}/a`, { spec: { size: 4 } });
    expect([body.apiVersion, body.spec.size]).to.deep.equal(['shop.example.com/v2', 4]);
    await eventually(async () => (await server.get(path)).body.status.storedVersions.length === 2);
    expect((await server.get(widgets)).status).to.equal(404);
    const { body: refused } = await server.patch(path, { spec: { versions: [changed] } });
    expect(refused.details.causes[0].field).to.equal('status.storedVersions[0]');
  });

  it('are deleted after their objects, and wait for the finalizers of the objects', async () => {
    await establish(server);
    await server.create(widgets, newWidget('a'));
    await server.create(widgets, newWidget('held', {}, { finalizers: ['example.com/hold'] }));
    const { body } = await server.delete(path);
    expect(body.metadata.deletionTimestamp).to.be.a('string');
    await eventually(() => gone(`${widgets}/a`));
    expect((await conditionOf(server, widgetDefinitionName, 'Terminating'))?.status).to.equal('True');
    const refused = await server.post(widgets, newWidget('late'));
    expect([refused.status, refused.body.reason]).to.deep.equal([405, 'MethodNotAllowed']);
    await server.patch(`${widgets}/held`, { metadata: { finalizers: null } });
    await eventually(() => gone(path));
    expect(await gone(widgets)).to.equal(true);
    await establish(server);
    expect((await server.get(widgets)).body.total).to.equal(0);
  });

  it('become Established only when no other kind has one of their names', async () => {
    await establish(server);
    const name = 'gadgets.shop.example.com';
    const names = { plural: 'gadgets', kind: 'Gadget', singular: 'widget' };
    await server.create(definitions, { ...widgetDefinition({ names }), metadata: { name } });
    await eventually(async () => (await conditionOf(server, name, 'NamesAccepted'))?.reason === 'SingularConflict');
    expect((await conditionOf(server, name, 'Established'))?.status).to.equal('False');
    await server.delete(path);
    await eventually(async () => (await conditionOf(server, name, 'Established'))?.status === 'True');
  });

  it('cannot replace a kind of a plugin', async () => {
    const name = 'persons.people.example.com';
    const group = 'people.example.com';
    const spec = {
      group,
      names: { plural: 'persons', kind: 'Person' },
      versions: [widgetVersion({ name: 'v1alpha1' })],
    };
    await server.create(definitions, { ...widgetDefinition(spec), metadata: { name } });
    await eventually(async () => (await conditionOf(server, name, 'NamesAccepted'))?.status === 'False');
    await server.delete(`${definitions}/${name}`);
    await eventually(() => gone(`${definitions}/${name}`));
    expect((await server.get(`/apis/${group}/v1alpha1/persons`)).status).to.equal(200);
  });

  const refusals: readonly (readonly [what: string, definition: object, field: string])[] = [
    [
      'a name that is not <plural>.<group>',
      widgetDefinition({ names: { plural: 'things', kind: 'Thing' } }),
      'metadata.name',
    ],
    [
      'a schema without types',
      widgetDefinition({ versions: [widgetVersion({ schema: { openAPIV3Schema: { properties: { a: {} } } } })] }),
      'spec.versions[0].schema.openAPIV3Schema.properties[a].type',
    ],
    [
      'a keyword with a value of the wrong type',
      widgetDefinition({ versions: [widgetVersion({ schema: schemaOf({ type: 'integer', minimum: 'a' }) })] }),
      'spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.size.minimum',
    ],
    [
      'a name that is not a version',
      widgetDefinition({ versions: [widgetVersion({ name: 'new' })] }),
      'spec.versions[0].name',
    ],
    [
      'a warning of a version that is not deprecated',
      widgetDefinition({ versions: [widgetVersion({ deprecationWarning: 'old' })] }),
      'spec.versions[0].deprecationWarning',
    ],
    ['no storage version', widgetDefinition({ versions: [widgetVersion({ storage: false })] }), 'spec.versions'],
    ['an unknown conversion', widgetDefinition({ conversion: { strategy: 'Other' } }), 'spec.conversion.strategy'],
    [
      'a pattern that RE2 does not support',
      widgetDefinition({ versions: [widgetVersion({ schema: schemaOf({ type: 'string', pattern: '(?=a)' }) })] }),
      'spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[size].pattern',
    ],
  ];
  for (const [what, definition, field] of refusals) {
    it(`are refused with ${what}; the refusal names the field`, async () => {
      const { status, body } = await server.post(definitions, definition);
      expect(status).to.equal(422);
      expect((body.details.causes as { field: string }[]).map((cause) => cause.field)).to.include(field);
    });
  }

  it('are refused in a group below the domain of the service', async () => {
    const metadata = { name: 'widgets.a.homeostat.internal' };
    const { status, body } = await server.post(definitions, {
      ...widgetDefinition({ group: 'a.homeostat.internal' }),
      metadata,
    });
    expect([status, body.details.causes[0].field]).to.deep.equal([422, 'spec.group']);
  });
});

describe('CustomResourceDefinitions and a restart', () => {
  let folder: string;
  let server: TestServer;

  const restart = async (): Promise<void> => {
    await server?.stop();
    server = await TestServer.start({ database: `sqlite:${join(folder, 'test.db')}` });
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'definitions-'));
    await restart();
  });

  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('are served with their objects as soon as the server is ready', async () => {
    await establish(server);
    await server.create(widgets, newWidget('held', {}, { finalizers: ['example.com/hold'] }));
    await restart();
    const { status, body } = await server.get(`${widgets}/held`);
    expect([status, body.spec?.size]).to.deep.equal([200, 3]);
  });

  it('complete a deletion of their objects that the restart interrupted', async () => {
    await server.delete(path);
    const isMarked = async (): Promise<boolean> =>
      (await server.get(`${widgets}/held`)).body.metadata?.deletionTimestamp !== undefined;
    await eventually(isMarked);
    await restart();
    await eventually(isMarked);
    await server.patch(`${widgets}/held`, { metadata: { finalizers: null } });
    await eventually(async () => (await server.get(path)).status === 404);
    expect((await server.get(widgets)).status).to.equal(404);
  });
});
