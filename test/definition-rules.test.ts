import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { TestServer } from './support/servers/test-server.ts';
import {
  definitions,
  establish,
  newWidget,
  widgetDefinition,
  widgets,
  widgetVersion,
} from './support/definitions/widget-definition.ts';

interface Schema {
  readonly [keyword: string]: unknown;
}

/** Returns a definition of Widget with these rules for the spec. `fields` are further properties of the spec. */
function withRules(rules: readonly object[], fields: Schema = {}): object {
  const spec = {
    type: 'object',
    properties: { size: { type: 'integer' }, least: { type: 'integer' }, ...fields },
    'x-kubernetes-validations': rules,
  };
  const status = {
    type: 'object',
    properties: { size: { type: 'integer' } },
    'x-kubernetes-validations': [{ rule: '!has(self.size) || self.size >= 0', message: 'size is not negative' }],
  };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec, status } } };
  return widgetDefinition({ versions: [widgetVersion({ schema, selectableFields: [] })] });
}

const messages = (body: { details: { causes: { field: string; message: string }[] } }): readonly string[] =>
  body.details.causes.map(({ field, message }) => `${field}: ${message}`);

describe('rules in CEL of CustomResourceDefinitions [compat validations]', () => {
  let server: TestServer;

  beforeEach(async () => {
    server = await TestServer.start();
  });

  afterEach(() => server.stop());

  it('are refused below allOf, anyOf, oneOf or not, with the message of kube-apiserver', async () => {
    const rules = [{ rule: 'true' }];
    const branches: readonly (readonly [place: string, branch: Schema])[] = [
      ['anyOf[0]', { anyOf: [{ 'x-kubernetes-validations': rules }] }],
      ['allOf[0]', { allOf: [{ 'x-kubernetes-validations': rules }] }],
      ['oneOf[0]', { oneOf: [{ 'x-kubernetes-validations': rules }] }],
      ['not', { not: { 'x-kubernetes-validations': rules } }],
    ];
    for (const [place, branch] of branches) {
      const { status, body } = await server.post(definitions, withRules([], { size: { type: 'integer', ...branch } }));
      const field = `spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[size].${place}`;
      expect([status, messages(body)]).to.deep.equal([
        422,
        [`${field}.x-kubernetes-validations: Forbidden: must be empty to be structural`],
      ]);
    }
  });

  it('are enforced for every verb that writes an object [spec operators-rule-enforced]', async () => {
    await establish(
      server,
      withRules([{ rule: 'self.size >= self.least', messageExpression: '"at least " + string(self.least)' }]),
    );
    const refused = { field: 'spec', message: 'Invalid value: "object": at least 4', reason: 'FieldValueInvalid' };
    const bad = newWidget('a', { size: 3, least: 4 });
    const created = await server.post(widgets, bad);
    expect([created.status, created.body.details.causes]).to.deep.equal([422, [refused]]);
    expect(created.body.message).to.equal(
      'Widget.shop.example.com "a" is invalid: spec: Invalid value: "object": at least 4',
    );
    const { metadata } = await server.create(widgets, newWidget('a', { size: 5, least: 4 }));
    const path = `${widgets}/a`;
    const writes = [
      await server.put(path, { ...bad, metadata: { name: 'a', resourceVersion: metadata.resourceVersion } }),
      await server.patch(path, { spec: { size: 3 } }),
      await server.patch(path, [{ op: 'replace', path: '/spec/size', value: 3 }], {
        type: 'application/json-patch+json',
      }),
      await server.patch(`${path}?fieldManager=m&force=true`, bad, { type: 'application/apply-patch+yaml' }),
    ];
    for (const { status, body } of writes) expect([status, body.details.causes]).to.deep.equal([422, [refused]]);
    expect((await server.get(path)).body.spec).to.deep.equal({ size: 5, least: 4 });
  });

  it('are enforced when the status is written [spec operators-rule-enforced]', async () => {
    await establish(server, withRules([]));
    await server.create(widgets, newWidget('a'));
    const answer = await server.patch(`${widgets}/a/status`, { status: { size: -1 } });
    expect([answer.status, messages(answer.body)]).to.deep.equal([
      422,
      ['status: Invalid value: "object": size is not negative'],
    ]);
  });

  it('only warn while a write keeps a value that breaks a new rule, and refuse a changed value that breaks it [spec operators-rule-ratcheting]', async () => {
    await establish(server, withRules([]));
    await server.create(widgets, newWidget('a', { size: 1 }));
    const { body } = await server.get(`${definitions}/widgets.shop.example.com`);
    const changed = withRules([{ rule: 'self.size > 1', message: 'more than one' }]) as { spec: object };
    expect(
      (await server.put(`${definitions}/widgets.shop.example.com`, { ...body, spec: changed.spec })).status,
    ).to.equal(200);
    // The changed schema takes effect shortly after the response to the PUT, so the test writes until a warning comes.
    let writes = 0;
    await eventually(async () => {
      writes += 1;
      const { status, headers } = await server.patch(`${widgets}/a`, { metadata: { labels: { tier: `x${writes}` } } });
      expect(status).to.equal(200);
      return headers['warning']?.includes('more than one') === true;
    });
    expect((await server.patch(`${widgets}/a`, { spec: { least: 1 } })).status).to.equal(422);
  });

  it('are not checked for an object with values of the wrong type', async () => {
    await establish(server, withRules([{ rule: 'self.size > 1' }]));
    const answer = await server.post(widgets, newWidget('a', { size: 'large' }));
    expect(messages(answer.body)).to.deep.equal([
      'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
      '<nil>: Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ]);
  });

  const place = 'spec.validation.openAPIV3Schema.properties[spec]';
  const rule = `${place}.x-kubernetes-validations[0]`;
  const shown = (text: string): string =>
    `apiextensions.ValidationRule{Rule:${JSON.stringify(text)}, Message:"", MessageExpression:"", Reason:(*apiextensions.FieldValueErrorReason)(nil), FieldPath:"", OptionalOldSelf:(*bool)(nil)}`;
  const refusals: readonly (readonly [what: string, rules: object, fields: Schema, message: string])[] = [
    [
      'an unknown field',
      { rule: 'self.sise > 1' },
      {},
      `${rule}.rule: Invalid value: ${shown('self.sise > 1')}: compilation failed: ERROR: <input>:1:5: undefined field 'sise'\n | self.sise > 1\n | ....^`,
    ],
    [
      'a rule whose result is not a boolean',
      { rule: 'self.size' },
      {},
      `${rule}.rule: Invalid value: ${shown('self.size')}: cel expression must evaluate to a bool`,
    ],
    ['an empty rule', { rule: ' ' }, {}, `${rule}.rule: Required value: rule is not specified`],
    [
      'a message with a line break',
      { rule: 'true', message: 'a\nb' },
      {},
      `${rule}.message: Invalid value: "a\\nb": must not contain line breaks`,
    ],
    [
      'another reason',
      { rule: 'true', reason: 'Other' },
      {},
      `${rule}.reason: Unsupported value: "Other": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"`,
    ],
    [
      'a path of a field that does not exist',
      { rule: 'true', fieldPath: '.other' },
      {},
      `${rule}.fieldPath: Invalid value: ".other": must be a valid path`,
    ],
    [
      'optionalOldSelf without oldSelf',
      { rule: 'true', optionalOldSelf: true },
      {},
      `${rule}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule`,
    ],
    [
      'a cost without a bound',
      { rule: 'self.tags.all(a, self.tags.all(b, a == b))' },
      { tags: { type: 'array', items: { type: 'string' } } },
      `${rule}.rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`,
    ],
  ];
  it('are refused with their path when they have a mistake [spec operators-rule-checked]', async () => {
    for (const [what, broken, fields, message] of refusals) {
      const { status, body } = await server.post(definitions, withRules([broken], fields));
      expect([what, status, messages(body)[0]]).to.deep.equal([what, 422, message]);
    }
  });

  it('cannot use oldSelf for the items of a list without keys, because the server cannot find the old item [spec operators-rule-checked]', async () => {
    const items = { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self > oldSelf' }] };
    const { body } = await server.post(definitions, withRules([], { list: { type: 'array', maxItems: 10, items } }));
    expect(messages(body)).to.deep.equal([
      `${place}.properties[list].items.x-kubernetes-validations[0].rule: Invalid value: "self > oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within ${place}.properties[list]`,
    ]);
  });

  it('are refused when their estimated cost exceeds the limit of a definition [spec operators-estimate]', async () => {
    const fields = Object.fromEntries(
      Array.from({ length: 15 }, (_, index) => [
        `t${index}`,
        {
          type: 'array',
          maxItems: 1500,
          items: { type: 'integer' },
          'x-kubernetes-validations': [{ rule: 'self.all(a, self.all(b, a >= b || true))' }],
        },
      ]),
    );
    const { status, body } = await server.post(definitions, withRules([], fields));
    expect(status).to.equal(422);
    expect(messages(body).at(-1)).to.match(
      /^spec\.validation\.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of [\d.]+x/,
    );
  });
});
