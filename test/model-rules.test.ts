import { defineModel } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { TestServer } from './support/servers/test-server.ts';

const path = '/apis/shop.example.com/v1/campaigns';

const options = { gvk: 'shop.example.com/v1/Campaign', plural: 'campaigns' } as const;
const spec = { type: 'object', properties: { from: { type: 'integer' }, until: { type: 'integer' } } } as const;
const schema = { type: 'object', properties: { spec } } as const;

describe('rules of models', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  after(() => server.stop());

  it('are enforced when an object is created or patched [spec operators-rule-models]', async () => {
    const rules = [{ rule: 'self.spec.from <= self.spec.until', message: 'ends too early', fieldPath: '.spec.until' }];
    server.api.schemeManager.register(defineModel({ ...options, schema, rules }));
    await eventually(async () => (await server.get(path)).status === 200);
    const campaign = (from: number): object => ({
      apiVersion: 'shop.example.com/v1',
      kind: 'Campaign',
      metadata: { name: 'a' },
      spec: { from, until: 5 },
    });
    const { status, body } = await server.post(path, campaign(6));
    expect([status, body.message]).to.deep.equal([
      422,
      'Campaign.shop.example.com "a" is invalid: spec.until: Invalid value: "object": ends too early',
    ]);
    await server.create(path, campaign(5));
    expect((await server.patch(`${path}/a`, { spec: { until: 4 } })).status).to.equal(422);
  });

  it('make the registration of the model fail when they have a mistake; the error names the position', () => {
    const rules = [{ rule: 'self.spec.form > 1' }];
    const model = defineModel({ gvk: 'shop.example.com/v1/Broken', plural: 'brokens', schema, rules });
    expect(() => server.api.schemeManager.register(model)).to.throw(
      "model Broken: rules: compilation failed: ERROR: <input>:1:10: undefined field 'form'",
    );
  });
});
