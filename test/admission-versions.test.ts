import { expect } from 'chai';
import { admit, invalid } from 'homeostat';
import type { AdmissionHooks, ApiObject, ModelDescriptor } from 'homeostat';
import {
  gadget,
  gadgetsV1,
  gadgetsV2,
  gadgetV1,
  gadgetV2,
  newGadgetV1,
  newGadgetV2,
} from './support/models/gadget-versions.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

interface GadgetV1 extends ApiObject {
  readonly spec?: { readonly extent?: string; readonly code?: string; readonly colour?: string };
}

interface GadgetV2 extends ApiObject {
  readonly spec?: { readonly size?: number; readonly unit?: string };
}

describe('admission of a kind in several versions', () => {
  let server: TestServer;
  let hooks: AdmissionHooks<GadgetV1>;
  let stored: AdmissionHooks<GadgetV2>;

  before(async () => {
    server = await TestServer.start();
    server.api.schemeManager.forOwner('shop', { group: 'shop.example.com' }).register(gadget);
    const owned = server.api.admissions.forOwner('shop', { client: server.api.client });
    owned.add(
      admit(gadgetV1 as unknown as ModelDescriptor<GadgetV1>, {
        onCreate: (call) => hooks.onCreate?.(call),
        onUpdate: (call) => hooks.onUpdate?.(call),
        onDelete: (call) => hooks.onDelete?.(call),
      }),
    );
    owned.add(
      admit(gadgetV2 as unknown as ModelDescriptor<GadgetV2>, {
        onCreate: (call) => stored.onCreate?.(call),
        onUpdate: (call) => stored.onUpdate?.(call),
      }),
    );
    await server.api.whenReady(gadget);
  });

  after(() => server.stop());

  beforeEach(async () => {
    hooks = {};
    stored = {};
    await server.delete(gadgetsV2);
  });

  it("passes objects to a hook in the version of the hook's model, for writes in every version", async () => {
    const seen: unknown[] = [];
    hooks = {
      onCreate: ({ object }) => void seen.push([object.apiVersion, object.spec?.extent]),
      onUpdate: ({ object, old }) => void seen.push([old.spec?.extent, object.spec?.extent]),
      onDelete: ({ object }) => void seen.push([object.apiVersion, object.spec?.extent]),
    };
    await server.create(gadgetsV2, newGadgetV2('a'));
    await server.create(gadgetsV1, newGadgetV1('b', { extent: '4 cm' }));
    await server.patch(`${gadgetsV2}/a`, { spec: { size: 5 } });
    await server.delete(`${gadgetsV2}/a`);
    expect(seen).to.deep.equal([
      ['shop.example.com/v1', '3 mm'],
      ['shop.example.com/v1', '4 cm'],
      ['3 mm', '5 mm'],
      ['shop.example.com/v1', '5 mm'],
    ]);
  });

  it('converts the objects that hooks return to the version of the write', async () => {
    hooks.onCreate = ({ object }) => {
      object.spec = { ...object.spec, extent: '7 km' };
    };
    const created = await server.create(gadgetsV2, newGadgetV2('a', { code: 'x' }));
    expect([created.apiVersion, created.spec]).to.deep.equal([
      'shop.example.com/v2',
      { size: 7, unit: 'km', code: 'x' },
    ]);
  });

  it('calls one hook after the other; each hook gets the object in the version of its own model', async () => {
    hooks.onCreate = ({ object }) => {
      object.spec = { ...object.spec, extent: '7 km' };
    };
    stored.onCreate = ({ object }) => {
      object.spec = { ...object.spec, size: 2 * (object.spec?.size ?? 0) };
    };
    stored.onUpdate = ({ object, old }) => {
      object.spec = { ...object.spec, size: (object.spec?.size ?? 0) + (old.spec?.size ?? 0) };
    };
    const created = await server.create(gadgetsV1, newGadgetV1('a', { colour: 'blue' }));
    expect([created.apiVersion, created.spec]).to.deep.equal([
      'shop.example.com/v1',
      { extent: '14 km', colour: 'blue' },
    ]);
    const patched = await server.patch(`${gadgetsV1}/a`, { spec: { extent: '1 km' } });
    expect(patched.body.spec).to.deep.equal({ extent: '15 km', colour: 'blue' });
  });

  it('adds no annotations of the conversion to an object that no hook changes', async () => {
    hooks.onCreate = () => undefined;
    const created = await server.create(gadgetsV2, newGadgetV2('a'));
    expect(created.metadata).not.to.have.property('annotations');
  });

  it("adds the hook's version to the message of a violation that the hook reports, if the write has another version", async () => {
    hooks.onCreate = () => {
      throw invalid({ field: 'spec.extent', message: 'is too far' });
    };
    expectRefusal(await server.post(gadgetsV2, newGadgetV2('a')), {
      reason: 'Invalid',
      message: 'spec.extent: is too far (as converted to v1)',
      causes: ['FieldValueInvalid spec.extent'],
    });
    expectRefusal(await server.post(gadgetsV1, newGadgetV1('a')), { reason: 'Invalid', message: /is too far$/ });
  });

  it('refuses an object when its conversion to the version of a hook fails', async () => {
    const answer = await server.post(gadgetsV2, newGadgetV2('a', { code: 'odd' }));
    expectRefusal(answer, { reason: 'Invalid', message: 'an object with the code "odd" has no extent' });
  });

  it('reports the violations of the schema when an invalid object also cannot be converted', async () => {
    const answer = await server.post(gadgetsV2, { ...newGadgetV2('a'), spec: { size: 'x', code: 'odd' } });
    expectRefusal(answer, { reason: 'Invalid', causes: ['FieldValueTypeInvalid spec.size'] });
  });
});
