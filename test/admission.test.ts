import { defineModel, silentLogger } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { admit, ApiError, invalid } from 'homeostat';
import type { AdmissionHooks, CreateAdmission } from 'homeostat';
import { namespaceGraceMs } from './support/models/namespaces.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

interface Order extends ApiObject {
  readonly spec?: {
    readonly title?: string;
    readonly slug?: string;
    readonly size?: number;
    readonly tags?: readonly string[];
  };
  readonly status?: { readonly phase?: string; readonly seen?: string };
}

const text = { type: 'string' } as const;
const spec = { title: text, slug: text, size: { type: 'integer', minimum: 1, default: 1 } } as const;
const status = { type: 'object', properties: { phase: text, seen: text } } as const;

const order = defineModel({
  gvk: 'orders.example.com/v1/Order',
  plural: 'orders',
  subresources: ['status'],
  schema: {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        required: ['title', 'slug'],
        properties: { ...spec, tags: { type: 'array', items: text } },
      },
      status,
    },
  },
}) as unknown as ModelDescriptor<Order>;

const inNamespaces = { scope: 'Namespaced', schema: { type: 'object', properties: {} } } as const;
const parcel = defineModel({ gvk: 'orders.example.com/v1/Parcel', plural: 'parcels', ...inNamespaces });
const receipt = defineModel({ gvk: 'orders.example.com/v1/Receipt', plural: 'receipts', ...inNamespaces });

const orders = '/apis/orders.example.com/v1/orders';
const parcels = '/apis/orders.example.com/v1/namespaces/shop/parcels';
const receipts = '/apis/orders.example.com/v1/namespaces/shop/receipts';
const applyType = 'application/apply-patch+yaml';

function newOrder(name: string, fields: object = {}, metadata: object = {}): object {
  return {
    apiVersion: 'orders.example.com/v1',
    kind: 'Order',
    metadata: { name, ...metadata },
    spec: { title: name, slug: name, ...fields },
  };
}

describe('admission by plugins', () => {
  let server: TestServer;
  let clock: FakeClock;
  let hooks: AdmissionHooks<Order>;
  let parcelHooks: AdmissionHooks;
  let errors: Readonly<Record<string, unknown>>[];

  before(async () => {
    clock = new FakeClock();
    const error = (fields: object): void => void errors.push({ ...fields });
    server = await TestServer.start({ clock, logger: { ...silentLogger, error } });
    const { schemeManager, admissions } = server.api;
    const scheme = schemeManager.forOwner('shop', { group: 'orders.example.com' });
    scheme.register(order);
    scheme.register(parcel);
    scheme.register(receipt);
    const owned = admissions.forOwner('shop', { client: server.api.createPluginClient('shop') });
    owned.add(
      admit(order, {
        onCreate: (call) => hooks.onCreate?.(call),
        onUpdate: (call) => hooks.onUpdate?.(call),
        onDelete: (call) => hooks.onDelete?.(call),
      }),
    );
    owned.add(admit(parcel, { onDelete: (call) => parcelHooks.onDelete?.(call) }));
    await server.api.whenReady(order);
    await server.api.whenReady(parcel);
    await server.api.whenReady(receipt);
  });

  after(() => server.stop());

  beforeEach(async () => {
    hooks = {};
    parcelHooks = {};
    errors = [];
    expect((await server.delete(orders)).status).to.equal(200);
  });

  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of a request or response
  const read = async (name: string): Promise<any> => (await server.get(`${orders}/${name}`)).body;

  describe('on a write with a hook', () => {
    it('stores and returns the fields that onCreate has set, also required fields, and the defaults of the schema', async () => {
      hooks.onCreate = ({ object }) => {
        object.spec = { ...object.spec, slug: `slug-of-${object.spec?.title}`, tags: ['new'] };
      };
      const created = await server.create(orders, newOrder('a', { slug: undefined }));
      expect(created.spec).to.deep.equal({ title: 'a', slug: 'slug-of-a', size: 1, tags: ['new'] });
      expect(await read('a')).to.deep.equal(created);
    });

    it('uses the object that the hook returns in place of the object that it received', async () => {
      hooks.onCreate = async ({ object }) => ({
        ...object,
        metadata: { ...object.metadata, labels: { 'orders.example.com/kind': 'new' } },
        spec: { title: 'other', slug: 'other' },
      });
      const { metadata, spec: stored } = await server.create(orders, newOrder('a', { size: 7 }));
      expect(metadata.labels).to.deep.equal({ 'orders.example.com/kind': 'new' });
      expect(stored).to.deep.equal({ title: 'other', slug: 'other', size: 1 });
    });

    it('validates the object by the schema after the hook', async () => {
      hooks.onCreate = ({ object }) => {
        object.spec = { ...object.spec, size: 0, tags: [7] as never };
      };
      const answer = await server.post(orders, newOrder('a'));
      expectRefusal(answer, {
        reason: 'Invalid',
        causes: ['FieldValueInvalid spec.size', 'FieldValueTypeInvalid spec.tags[0]'],
      });
    });

    it('removes unknown fields that a hook adds, without a warning to the client', async () => {
      hooks.onCreate = ({ object }) => Object.assign(object, { extra: 1 });
      const answer = await server.post(`${orders}?fieldValidation=Strict`, newOrder('a'));
      expect([answer.status, answer.headers['warning'], answer.body.extra]).to.deep.equal([201, undefined, undefined]);
    });

    it('ignores changes of the hook to metadata that the server sets', async () => {
      hooks.onCreate = ({ object }) => {
        Object.assign(object.metadata, { version: 7, generation: 7, creationTimestamp: 'never', managedFields: [] });
      };
      const { metadata } = await server.create(orders, newOrder('a'));
      expect([metadata.version, metadata.generation]).to.deep.equal([1, 1]);
      expect(metadata.creationTimestamp).to.match(/^2030-/);
      expect(metadata.managedFields).to.have.length(1);
    });

    it("ignores a hook's changes to status in a write of the object, and a hook's changes outside status in a write of status", async () => {
      hooks.onCreate = ({ object }) => {
        object.status = { phase: 'made up' };
      };
      expect(await server.create(orders, newOrder('a'))).not.to.have.property('status');
      hooks.onUpdate = ({ object, subresource }) => {
        object.status = { ...object.status, seen: subresource ?? 'main' };
        object.spec = { ...object.spec, title: 'changed' };
      };
      const { body } = await server.patch(`${orders}/a/status`, { status: { phase: 'Open' } });
      expect(body.status).to.deep.equal({ phase: 'Open', seen: 'status' });
      expect([body.spec.title, body.metadata.generation]).to.deep.equal(['a', 1]);
      const main = (await server.patch(`${orders}/a`, { spec: { size: 2 } })).body;
      expect([main.spec.title, main.status.seen]).to.deep.equal(['changed', 'status']);
    });

    it('does not write an object when the result of the hook equals the stored object', async () => {
      const created = await server.create(orders, newOrder('a'));
      hooks.onUpdate = ({ old }) => old;
      const { status: code, body } = await server.patch(`${orders}/a`, { spec: { title: 'b' } });
      expect([code, body]).to.deep.equal([200, created]);
    });

    it('ignores a change that the hook makes after it has returned', async () => {
      let kept: { title?: string } | undefined;
      hooks.onCreate = ({ object }) => {
        kept = object.spec;
      };
      hooks.onUpdate = () => {
        if (kept !== undefined) kept.title = 'late';
      };
      await server.create(orders, newOrder('a'));
      await server.patch(`${orders}/a`, { spec: { size: 2 } });
      expect((await read('a')).spec).to.deep.equal({ title: 'a', slug: 'a', size: 2 });
    });
  });

  describe('during writes and deletions', () => {
    it('passes the stored object and the subresource to the hooks, for every verb that writes', async () => {
      const calls: string[] = [];
      hooks = {
        onCreate: ({ object }) => void calls.push(`create ${object.metadata.name}`),
        onUpdate: ({ object, old, subresource = '' }) =>
          void calls.push(`update ${old.spec?.size}→${object.spec?.size} ${subresource}`.trim()),
        onDelete: ({ object }) => void calls.push(`delete ${object.metadata.name}`),
      };
      const created = await server.create(orders, newOrder('a'));
      await server.put(`${orders}/a`, { ...created, spec: { ...created.spec, size: 2 } });
      await server.patch(`${orders}/a`, { spec: { size: 3 } });
      await server.patch(`${orders}/a?fieldManager=me&force=true`, newOrder('a', { size: 4 }), { type: applyType });
      await server.patch(`${orders}/b?fieldManager=me`, newOrder('b'), { type: applyType });
      await server.patch(`${orders}/a/status`, { status: { phase: 'x' } });
      await server.delete(`${orders}/a`);
      await server.delete(orders);
      expect(calls).to.deep.equal([
        'create a',
        'update 1→2',
        'update 2→3',
        'update 3→4',
        'create b',
        'update 4→4 status',
        'delete a',
        'delete b',
      ]);
    });

    it('calls the delete hook when a deletion is requested, and the update hook when the last finalizer is removed', async () => {
      const calls: string[] = [];
      await server.create(orders, newOrder('a', {}, { finalizers: ['orders.example.com/hold'] }));
      hooks = {
        onUpdate: ({ object, old }) =>
          void calls.push(`update ${old.metadata.finalizers?.length}→${object.metadata.finalizers?.length ?? 0}`),
        onDelete: () => void calls.push('delete'),
      };
      await server.delete(`${orders}/a`);
      await server.patch(`${orders}/a`, { metadata: { finalizers: null } });
      expect(calls).to.deep.equal(['delete', 'update 1→0']);
      expect((await server.get(`${orders}/a`)).status).to.equal(404);
    });

    it('passes dryRun: true to the hooks for a dry run', async () => {
      const calls: boolean[] = [];
      hooks = {
        onCreate: ({ object, dryRun }) => {
          calls.push(dryRun);
          object.spec = { ...object.spec, title: 'from the hook' };
        },
        onDelete: ({ dryRun }) => void calls.push(dryRun),
      };
      const tried = await server.post(`${orders}?dryRun=All`, newOrder('a'));
      expect(tried.body.spec.title).to.equal('from the hook');
      expect((await server.get(`${orders}/a`)).status).to.equal(404);
      await server.create(orders, newOrder('a'));
      await server.delete(`${orders}/a?dryRun=All`);
      expect(calls).to.deep.equal([true, false, true]);
      expect((await server.get(`${orders}/a`)).status).to.equal(200);
    });

    it('calls the hooks for concurrent writes of an object one after the other, each with the result of the previous write', async () => {
      await server.create(orders, newOrder('a', { tags: [] }));
      hooks.onUpdate = async ({ object, old }) => {
        await Promise.resolve();
        object.spec = { ...object.spec, tags: [...(old.spec?.tags ?? []), String(object.spec?.size)] };
      };
      const sizes = [2, 3, 4];
      await Promise.all(sizes.map((size) => server.patch(`${orders}/a`, { spec: { size } })));
      expect((await read('a')).spec.tags).to.have.members(['2', '3', '4']);
    });
  });

  describe('by a hook that refuses or warns', () => {
    it('reports all violations of the hook, each with its field', async () => {
      hooks.onCreate = () => {
        throw invalid(
          { field: 'spec.title', message: 'is rude' },
          { field: 'spec.tags[0]', message: 'is one too many', reason: 'FieldValueTooMany' },
        );
      };
      const answer = await server.post(orders, newOrder('a'));
      expectRefusal(answer, {
        reason: 'Invalid',
        message: 'Order.orders.example.com "a" is invalid: [spec.title: is rude, spec.tags[0]: is one too many]',
        causes: ['FieldValueInvalid spec.title', 'FieldValueTooMany spec.tags[0]'],
        details: { name: 'a', group: 'orders.example.com', kind: 'Order' },
      });
      expect((await server.get(`${orders}/a`)).status).to.equal(404);
      expect(errors).to.deep.equal([]);
    });

    it('keeps an object whose deletion the hook refuses, and returns the reason of the hook', async () => {
      const created = await server.create(orders, newOrder('a'));
      hooks.onDelete = () => {
        throw new ApiError('Forbidden', 'it has been paid');
      };
      const answer = await server.delete(`${orders}/a`);
      expectRefusal(answer, {
        reason: 'Forbidden',
        message: 'it has been paid',
        details: { name: 'a', kind: 'orders' },
      });
      expect(await read('a')).to.deep.equal(created);
    });

    it('deletes the objects of a collection, except those whose deletion the hook refuses', async () => {
      for (const name of ['a', 'b', 'c']) await server.create(orders, newOrder(name));
      hooks.onDelete = ({ object }) => {
        if (object.metadata.name === 'a') throw new ApiError('Forbidden', 'it has been paid');
      };
      expectRefusal(await server.delete(orders), { reason: 'Forbidden' });
      const { body } = await server.get(orders);
      expect(body.items.map((item: ApiObject) => item.metadata.name)).to.deep.equal(['a']);
    });

    it('accepts a write when the hook only warns; the response contains the warning', async () => {
      hooks.onCreate = ({ warn }) => warn('titles are out of fashion');
      const answer = await server.post(orders, newOrder('a'));
      expect([answer.status, answer.headers['warning']]).to.deep.equal([201, '299 - "titles are out of fashion"']);
      hooks.onDelete = ({ warn }) => warn('it was paid');
      const deleted = await server.delete(`${orders}/a`);
      expect([deleted.status, deleted.headers['warning']]).to.deep.equal([200, '299 - "it was paid"']);
    });
  });

  describe('by a hook that fails', () => {
    const failures: Readonly<Record<string, AdmissionHooks<Order>['onCreate']>> = {
      'by a throw': () => {
        throw new Error('secret');
      },
      'by a rejection': async () => {
        throw new Error('secret');
      },
      'by a throw of a value that is not an Error': () => {
        // Plugins may be plain JavaScript, which may throw any value.
        throw 'secret';
      },
      'by an error of its own request': async ({ client }) => void (await client.get(order, 'secret')),
      'by a result that is not an object': () => 7 as never,
      'by a change of the name': ({ object }) => void Object.assign(object.metadata, { name: 'secret' }),
      'by a change of the kind': ({ object }) => void Object.assign(object, { kind: 'Secret' }),
      'by metadata that is not an object': ({ object }) => void Object.assign(object, { metadata: 'secret' }),
      'by an object that contains itself': ({ object }) => void Object.assign(object, { spec: { object } }),
    };
    for (const [how, onCreate] of Object.entries(failures)) {
      it(`stores nothing after a failure ${how}; only the log has the error, with the name of the plugin`, async () => {
        hooks = onCreate === undefined ? {} : { onCreate };
        for (const send of [
          () => server.post(orders, newOrder('a')),
          () => server.patch(`${orders}/a?fieldManager=me`, newOrder('a'), { type: applyType }),
        ]) {
          errors = [];
          const answer = await send();
          expectRefusal(answer, { reason: 'InternalError', message: 'onCreate of plugin "shop" failed' });
          expect(answer.text).not.to.contain('secret');
          expect((await server.get(`${orders}/a`)).status).to.equal(404);
          expect(errors).to.have.length(1);
          expect(errors[0]).to.include({ plugin: 'shop', hook: 'onCreate', kind: 'Order', name: 'a' });
        }
      });
    }

    it('reports the violations of the schema instead of the failure when the object breaks the schema', async () => {
      hooks.onCreate = ({ object }) => {
        object.spec = { ...object.spec, slug: object.spec?.title?.toLowerCase() ?? '' };
      };
      const answer = await server.post(orders, newOrder('a', { title: 7 }));
      expectRefusal(answer, { reason: 'Invalid', causes: ['FieldValueTypeInvalid spec.title'] });
      expect(errors).to.deep.equal([]);
    });

    it('aborts the signal of a hook that does not end within 10 s; the object can then be written again', async () => {
      await server.create(orders, newOrder('a'));
      let signal: AbortSignal | undefined;
      hooks.onUpdate = async (call) => {
        ({ signal } = call);
        return new Promise<never>(() => undefined);
      };
      const hanging = server.patch(`${orders}/a`, { spec: { size: 2 } });
      await eventually(() => signal !== undefined);
      await clock.advance(9_999);
      expect(signal?.aborted).to.equal(false);
      await clock.advance(1);
      expectRefusal(await hanging, {
        reason: 'Timeout',
        message: 'onUpdate of plugin "shop" has not ended within 10 s',
      });
      expect(signal?.aborted).to.equal(true);
      hooks = {};
      expect((await server.patch(`${orders}/a`, { spec: { size: 3 } })).body.spec.size).to.equal(3);
    });
  });

  describe('in managedFields', () => {
    const managers = async (name: string): Promise<Record<string, unknown>> => {
      const { metadata } = await read(name);
      return Object.fromEntries(
        metadata.managedFields.map((each: { manager: string; operation: string; fieldsV1: Record<string, object> }) => [
          `${each.manager} ${each.operation}`,
          Object.keys(each.fieldsV1['f:spec'] ?? {})
            .filter((field) => field !== '.')
            .sort(),
        ]),
      );
    };

    it('assigns fields that a hook changes to the manager of the write', async () => {
      await server.post(`${orders}?fieldManager=maker`, newOrder('a'));
      hooks.onUpdate = ({ object }) => {
        object.spec = { ...object.spec, slug: 'other' };
      };
      await server.patch(`${orders}/a?fieldManager=editor`, { spec: { size: 2 } });
      expect(await managers('a')).to.deep.equal({
        'maker Update': ['f:title'],
        'editor Update': ['f:size', 'f:slug'],
      });
    });

    it('keeps the applier as the owner of applied fields that a hook changes; a second apply succeeds', async () => {
      const normalize = ({ object }: CreateAdmission<Order>): void => {
        object.spec = { ...object.spec, title: object.spec?.title?.toLowerCase() ?? '' };
      };
      hooks = { onCreate: normalize, onUpdate: normalize };
      const apply = (): ReturnType<TestServer['patch']> =>
        server.patch(`${orders}/a?fieldManager=me`, newOrder('a', { title: 'LOUD' }), { type: applyType });
      const first = (await apply()).body;
      expect(first.spec.title).to.equal('loud');
      const again = await apply();
      expect([again.status, again.body]).to.deep.equal([200, first]);
      const owned = await managers('a');
      expect(owned['me Apply']).to.deep.equal(['f:slug', 'f:title']);
    });

    it('keeps a field that a hook added to an apply, although the next apply does not contain this field', async () => {
      hooks.onCreate = ({ object }) => {
        object.spec = { ...object.spec, tags: ['added'] };
      };
      const apply = (size: number): ReturnType<TestServer['patch']> =>
        server.patch(`${orders}/a?fieldManager=me`, newOrder('a', { size }), { type: applyType });
      await apply(1);
      expect((await apply(2)).body.spec).to.deep.equal({ title: 'a', slug: 'a', size: 2, tags: ['added'] });
      expect(await managers('a')).to.deep.equal({
        'me Apply': ['f:size', 'f:slug', 'f:title'],
        'me Update': ['f:tags'],
      });
    });
  });

  describe('on deletions by the server itself', () => {
    const paid = (): never => {
      throw new ApiError('Forbidden', 'it has been paid');
    };

    it('keeps an object from the garbage collector until the hook allows its deletion', async () => {
      const { metadata } = await server.create(orders, newOrder('owner'));
      const { apiVersion, kind } = newOrder('owner') as ApiObject;
      const ownerReferences = [{ apiVersion, kind, name: 'owner', uid: metadata.uid }];
      await server.create(orders, newOrder('owned', {}, { ownerReferences }));
      let asked = 0;
      hooks.onDelete = ({ object }) => {
        if (object.metadata.name === 'owner') return;
        asked += 1;
        paid();
      };
      await server.delete(`${orders}/owner`);
      await eventually(() => asked === 1);
      hooks = {};
      expect((await server.get(`${orders}/owned`)).status).to.equal(200);
      await clock.advance(60_000);
      await eventually(async () => (await server.get(`${orders}/owned`)).status === 404);
    });

    it('when a namespace is deleted, keeps only the object whose deletion the hook refuses', async () => {
      await server.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
      const create = async (name: string): Promise<unknown> =>
        server.create(parcels, { apiVersion: 'orders.example.com/v1', kind: 'Parcel', metadata: { name } });
      await create('a');
      await create('b');
      await server.create(receipts, {
        apiVersion: 'orders.example.com/v1',
        kind: 'Receipt',
        metadata: { name: 'r' },
      });
      let asked = 0;
      parcelHooks.onDelete = ({ object }) => {
        asked += 1;
        if (object.metadata.name === 'a') paid();
      };
      await server.delete('/api/v1/namespaces/shop');
      await clock.advance(namespaceGraceMs);
      for (const path of [`${parcels}/b`, `${receipts}/r`])
        await eventually(async () => (await server.get(path)).status === 404, { describe: `${path} to go` });
      expect((await server.get(`${parcels}/a`)).status).to.equal(200);
      expect(asked).to.be.at.least(2);
      parcelHooks = {};
      await clock.advance(60_000);
      await eventually(async () => (await server.get('/api/v1/namespaces/shop')).status === 404);
    });
  });
});
