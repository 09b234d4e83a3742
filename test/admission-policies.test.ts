import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { TestServer } from './support/servers/test-server.ts';

const group = '/apis/admissionregistration.k8s.io/v1';
const policies = `${group}/validatingadmissionpolicies`;
const bindings = `${group}/validatingadmissionpolicybindings`;
const maps = '/api/v1/namespaces/default/configmaps';

const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] };

/** Returns a policy about ConfigMaps; `changes` replace fields of its spec. */
function policy(changes: object): object {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'limits' },
    spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'true' }], ...changes },
  };
}

function binding(changes: object = {}): object {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'all' },
    spec: { policyName: 'limits', validationActions: ['Deny'], ...changes },
  };
}

function map(name: string, data: object = {}, metadata: object = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, data };
}

describe('admission policies [compat policies]', () => {
  let server: TestServer;

  beforeEach(async () => {
    server = await TestServer.start();
  });

  afterEach(() => server.stop());

  const establish = async (spec: object, bound: object = {}): Promise<void> => {
    await server.create(policies, policy(spec));
    await server.create(bindings, binding(bound));
  };

  const refusal = async (object: object, path = maps): Promise<readonly [status: number, message: string]> => {
    const { status, body } = await server.post(path, object);
    return [status, status === 201 ? '' : (body.message as string)];
  };

  const denied = (text: string, name = 'a'): string =>
    `configmaps "${name}" is forbidden: ValidatingAdmissionPolicy 'limits' with binding 'all' denied request: ${text}`;

  it('refuse writes, with their message and reason [spec operators-policy-actions]', async () => {
    await establish({
      validations: [{ expression: 'object.data.size() < 2', message: 'too many', reason: 'Forbidden' }],
    });
    expect(await refusal(map('a', { x: '1', y: '2' }))).to.deep.equal([403, denied('too many')]);
    expect(await refusal(map('a', { x: '1' }))).to.deep.equal([201, '']);
    const patched = await server.patch(`${maps}/a`, { data: { y: '2' } });
    expect([patched.status, patched.body.reason]).to.deep.equal([403, 'Forbidden']);
  });

  it('have no effect without a binding', async () => {
    await server.create(policies, policy({ validations: [{ expression: 'false' }] }));
    expect(await refusal(map('a'))).to.deep.equal([201, '']);
  });

  it('cannot refuse the deletion of a policy', async () => {
    const all = { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] };
    await establish({ matchConstraints: { resourceRules: [all] }, validations: [{ expression: 'false' }] });
    expect((await refusal(map('a')))[0]).to.equal(422);
    expect((await server.delete(`${policies}/limits`)).status).to.equal(200);
    expect(await refusal(map('a'))).to.deep.equal([201, '']);
  });

  const verdicts: readonly (readonly [expression: string, isAllowed: boolean])[] = [
    ['oldObject == null && object.metadata.name == "a"', true],
    ['request.operation == "CREATE" && request.kind.kind == "ConfigMap" && request.namespace == "default"', true],
    ['request.resource.resource == "configmaps" && !has(request.subResource) && !request.dryRun', true],
    ['namespaceObject.metadata.name == "default" && namespaceObject.status.phase == "Active"', true],
    ['request.userInfo.username == ""', false],
    ['authorizer.group("").resource("secrets").namespace("default").check("get").allowed()', true],
    ['authorizer.requestResource.check("create").allowed()', true],
    ['authorizer.serviceAccount("default", "nobody").path("/metrics").check("get").allowed()', false],
    ['object.data.all(k, v, k.size() == 1 && v != "")', true],
    ['object.data.x == "2"', false],
  ];
  it('have variables for the request, the namespace and the permissions of the user [spec operators-policy-variables]', async () => {
    for (const [expression, isAllowed] of verdicts) {
      await establish({ validations: [{ expression }] });
      const [status, message] = await refusal(map('a', { x: '1' }));
      expect([expression, status, message]).to.deep.equal(
        isAllowed ? [expression, 201, ''] : [expression, 422, denied(`failed expression: ${expression}`)],
      );
      for (const path of [`${bindings}/all`, `${policies}/limits`, `${maps}/a`]) await server.delete(path);
    }
  });

  it('refuse a write when the evaluation of an expression ends with an error, unless failurePolicy is Ignore [spec operators-policy-failures]', async () => {
    await establish({ validations: [{ expression: 'object.data.missing == "1"' }] });
    const error = `expression 'object.data.missing == "1"' resulted in error: no such key: missing`;
    expect(await refusal(map('a'))).to.deep.equal([422, denied(error)]);
    await server.patch(`${policies}/limits`, { spec: { failurePolicy: 'Ignore' } });
    expect(await refusal(map('a'))).to.deep.equal([201, '']);
  });

  it('evaluate matchConditions and variables [spec operators-policy-match]', async () => {
    await establish({
      matchConditions: [{ name: 'named', expression: 'object.metadata.name != "free"' }],
      variables: [
        { name: 'data', expression: 'has(object.data) ? object.data : {}' },
        { name: 'count', expression: 'variables.data.size()' },
      ],
      validations: [
        { expression: 'variables.count < 2', messageExpression: '"%d keys".format([variables.count])' },
        { expression: 'variables.count < 2 || variables.data.all(k, k < "y")', message: 'second' },
      ],
    });
    expect(await refusal(map('free', { x: '1', y: '2' }))).to.deep.equal([201, '']);
    expect(await refusal(map('a', { x: '1', y: '2' }))).to.deep.equal([422, denied('2 keys')]);
  });

  it('select objects by namespace and labels, and exclude objects by name [spec operators-policy-match]', async () => {
    await server.create('/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'strict', labels: { tier: 'strict' } },
    });
    const strict = '/api/v1/namespaces/strict/configmaps';
    await establish(
      {
        matchConstraints: {
          resourceRules: [rule],
          excludeResourceRules: [{ ...rule, resourceNames: ['free'] }],
          namespaceSelector: { matchLabels: { tier: 'strict' } },
        },
        validations: [{ expression: 'false', message: 'no' }],
      },
      { matchResources: { objectSelector: { matchLabels: { checked: 'yes' } } } },
    );
    const checked = { labels: { checked: 'yes' } };
    expect(await refusal(map('a', {}, checked))).to.deep.equal([201, '']);
    expect(await refusal(map('a'), strict)).to.deep.equal([201, '']);
    expect(await refusal(map('free', {}, checked), strict)).to.deep.equal([201, '']);
    expect(await refusal(map('b', {}, checked), strict)).to.deep.equal([422, denied('no', 'b')]);
  });

  it('read parameters from the object that the binding names [spec operators-policy-params]', async () => {
    await server.create(maps, map('params', { max: '1' }));
    const paramRef = { name: 'params', namespace: 'default', parameterNotFoundAction: 'Deny' };
    await establish(
      {
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        validations: [{ expression: 'object.data.size() <= int(params.data.max)', message: 'too many' }],
      },
      { paramRef },
    );
    expect(await refusal(map('a', { x: '1', y: '2' }))).to.deep.equal([422, denied('too many')]);
    await server.delete(`${maps}/params`);
    const absent =
      'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction';
    expect(await refusal(map('a'))).to.deep.equal([422, denied(absent)]);
    await server.patch(`${bindings}/all`, { spec: { paramRef: { parameterNotFoundAction: 'Allow' } } });
    expect(await refusal(map('a'))).to.deep.equal([201, '']);
  });

  it('fail as failurePolicy says when the selector of the binding matches over 100 parameter objects [spec operators-policy-params] [slow]', async () => {
    const params = (index: number, max: string): Promise<unknown> =>
      server.create(maps, map(`params-${index + 100}`, { max }, { labels: { role: 'limits' } }));
    for (let index = 0; index < 99; index += 1) await params(index, '9');
    await params(99, '1');
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
    const validations = [{ expression: 'object.data.size() <= int(params.data.max)', message: 'too many' }];
    const paramRef = { selector: { matchLabels: { role: 'limits' } }, parameterNotFoundAction: 'Deny' };
    await establish({ paramKind, validations }, { paramRef });
    expect(await refusal(map('a', { x: '1', y: '2' }))).to.deep.equal([422, denied('too many')]);
    await server.delete(`${bindings}/all`);
    await params(100, '1');
    await server.create(bindings, binding({ paramRef }));
    const beyond =
      'failed to configure binding: the selector of paramRef matches more than 100 parameter objects: narrow spec.paramRef.selector, or put the parameters into fewer objects';
    expect(await refusal(map('a', { x: '1' }))).to.deep.equal([422, denied(beyond)]);
    await server.patch(`${policies}/limits`, { spec: { failurePolicy: 'Ignore' } });
    expect(await refusal(map('a', { x: '1' }))).to.deep.equal([201, '']);
  });

  it('warn instead of refusing when the binding has the action Warn [spec operators-policy-actions]', async () => {
    await establish(
      { validations: [{ expression: 'false', message: 'not so' }] },
      { validationActions: ['Warn', 'Audit'] },
    );
    const { status, headers } = await server.post(maps, map('a'));
    expect(status).to.equal(201);
    expect(headers['warning']).to.equal(
      "299 - \"Validation failed for ValidatingAdmissionPolicy 'limits' with binding 'all': not so\"",
    );
  });

  it('write audit annotations to the audit log, and failures if the binding has the action Audit [spec operators-policy-actions]', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-policies-'));
    const logFile = join(folder, 'audit.log');
    const audited = await TestServer.start({ audit: { logFile } });
    try {
      await audited.create(
        policies,
        policy({
          validations: [{ expression: 'true' }, { expression: 'false', message: 'not so' }],
          auditAnnotations: [{ key: 'size', valueExpression: 'string(object.data.size())' }],
        }),
      );
      await audited.create(bindings, binding({ validationActions: ['Audit'] }));
      await audited.create(maps, map('a', { x: '1' }));
    } finally {
      await audited.stop();
    }
    const lines = (await readFile(logFile, 'utf8')).trim().split('\n');
    const entries = lines.map(
      (line) => JSON.parse(line) as { requestURI: string; annotations?: Record<string, string> },
    );
    await rm(folder, { recursive: true });
    const annotations = entries.find(({ requestURI }) => requestURI === maps)?.annotations ?? {};
    expect(annotations).to.include({ 'limits/size': '1' });
    const failures = JSON.parse(annotations['validation.policy.admission.k8s.io/validation_failure'] ?? '') as object;
    expect(failures).to.deep.equal([
      { message: 'not so', policy: 'limits', binding: 'all', expressionIndex: 1, validationActions: ['Audit'] },
    ]);
  });

  it('report in status the type errors of their expressions, for each kind that their rules name [spec operators-policy-types]', async () => {
    const rules = [
      { apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps', 'secrets'] },
      { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] },
    ];
    const statusOf = async (): Promise<{ observedGeneration?: number; typeChecking?: object } | undefined> =>
      (await server.get(`${policies}/limits`)).body.status;
    const validations = [
      { expression: 'object.metadata.labels.size() < 3 && oldObject == null && object.data.size() > 0' },
      { expression: 'object.stringData.size() > 0 || object.metadata.nam == ""' },
    ];
    await server.create(policies, policy({ matchConstraints: { resourceRules: rules }, validations }));
    await eventually(async () => (await statusOf())?.observedGeneration === 1);
    const mistake = (kind: string, column: number, field: string): string =>
      `/v1, Kind=${kind}: ERROR: <input>:1:${column}: undefined field '${field}'`;
    const { expressionWarnings = [] } = (await statusOf())?.typeChecking as {
      expressionWarnings?: { fieldRef: string; warning: string }[];
    };
    expect(expressionWarnings.map(({ fieldRef }) => fieldRef)).to.deep.equal(['spec.validations[1].expression']);
    const lines = expressionWarnings[0]?.warning.split('\n').filter((line) => line.includes('ERROR')) ?? [];
    expect(lines).to.deep.equal([
      mistake('ConfigMap', 7, 'stringData'),
      "ERROR: <input>:1:48: undefined field 'nam'",
      mistake('Secret', 48, 'nam'),
    ]);
    await server.patch(`${policies}/limits`, { spec: { validations: [validations[0]] } });
    await eventually(async () => (await statusOf())?.observedGeneration === 2);
    expect((await statusOf())?.typeChecking).to.deep.equal({});
  });

  it('report in status each expression whose use of params contradicts the schema of the kind in paramKind', async () => {
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
    const validations = [
      { expression: 'params.data.size() > 0 && params.metadata.name != "" && object.data == params.data' },
      { expression: 'params.stringData.size() > 0' },
    ];
    const variables = [{ name: 'limit', expression: 'params.spec.limit' }];
    await server.create(policies, policy({ paramKind, variables, validations }));
    const { status } = await eventually(async () => {
      const { body } = await server.get(`${policies}/limits`);
      return body.status?.observedGeneration === 1 && body;
    });
    const { expressionWarnings } = status.typeChecking as {
      expressionWarnings: { fieldRef: string; warning: string }[];
    };
    expect(expressionWarnings.map(({ fieldRef, warning }) => [fieldRef, warning.split('\n')[0]])).to.deep.equal([
      ['spec.variables[0].expression', "/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'spec'"],
      ['spec.validations[1].expression', "/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'stringData'"],
    ]);
  });

  it('refuse a write when an expression exceeds its cost limit', async () => {
    const keys = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, 'v']));
    await establish({ validations: [{ expression: 'object.data.all(a, object.data.all(b, a != b || true))' }] });
    const [status, message] = await refusal(map('a', keys));
    expect(status).to.equal(422);
    expect(message).to.contain('validation failed due to running out of cost budget');
  });

  const mistakes: readonly (readonly [what: string, spec: object, message: string])[] = [
    ['rules', { matchConstraints: {} }, 'spec.matchConstraints.resourceRules: Required value'],
    [
      'validations',
      { validations: [] },
      'spec.validations: Required value: validations or auditAnnotations must contain at least one item',
    ],
    [
      'a failure policy',
      { failurePolicy: 'Odd' },
      'spec.failurePolicy: Unsupported value: "Odd": supported values: "Fail", "Ignore"',
    ],
    [
      'an expression',
      { validations: [{ expression: 'object.x > ' }] },
      'spec.validations[0].expression: Invalid value: "object.x > ": compilation failed: ERROR: <input>:1:12: Syntax error',
    ],
    [
      'an expression whose result is not a boolean',
      { validations: [{ expression: '"a"' }] },
      'spec.validations[0].expression: Invalid value: "\\"a\\"": must evaluate to bool',
    ],
    [
      'the use of parameters without paramKind',
      { validations: [{ expression: 'params.x' }] },
      "undeclared reference to 'params' (in container '')",
    ],
    [
      'the use of a variable that is defined later',
      {
        variables: [
          { name: 'a', expression: 'variables.b' },
          { name: 'b', expression: '1' },
        ],
      },
      "undefined field 'b'",
    ],
    [
      'a name',
      { variables: [{ name: 'a b', expression: '1' }] },
      'spec.variables[0].name: Invalid value: "a b": name is not a valid CEL identifier',
    ],
    [
      'an unknown field of the request',
      { validations: [{ expression: 'request.other == 1' }] },
      "undefined field 'other'",
    ],
  ];
  it('are refused with 422 when they have a mistake [spec operators-policy-mistakes]', async () => {
    for (const [what, spec, message] of mistakes) {
      const { status, body } = await server.post(policies, policy(spec));
      expect([what, status]).to.deep.equal([what, 422]);
      expect(body.message).to.contain(message);
    }
  });

  it('are refused with all their mistakes, in the same order as in Kubernetes [spec operators-policy-mistakes]', async () => {
    const spec = {
      failurePolicy: 'Odd',
      matchConditions: [{ name: 'a', expression: 'object.x >' }],
      variables: [{ name: 'a b', expression: '1 +' }],
      validations: [
        { expression: '', messageExpression: '1' },
        { expression: '"a"', reason: 'Odd' },
      ],
      auditAnnotations: [{ key: '', valueExpression: 'params.x' }],
    };
    const { status, body } = await server.post(policies, policy(spec));
    expect(status).to.equal(422);
    const causes = body.details.causes as readonly { field: string; reason: string }[];
    expect(causes.map(({ field, reason }) => `${field} ${reason}`)).to.deep.equal([
      'spec.failurePolicy FieldValueNotSupported',
      'spec.matchConditions[0].expression FieldValueInvalid',
      'spec.variables[0].name FieldValueInvalid',
      'spec.variables[0].expression FieldValueInvalid',
      'spec.validations[0].expression FieldValueRequired',
      'spec.validations[0].messageExpression FieldValueInvalid',
      'spec.validations[1].expression FieldValueInvalid',
      'spec.validations[1].reason FieldValueNotSupported',
      'spec.auditAnnotations[0].key FieldValueRequired',
      'spec.auditAnnotations[0].valueExpression FieldValueInvalid',
    ]);
  });

  it('have bindings that are refused with 422 when they have a mistake', async () => {
    const wrong: readonly (readonly [changes: object, message: string])[] = [
      [{ validationActions: [] }, 'spec.validationActions: Required value: at least one validation action is required'],
      [{ validationActions: ['Deny', 'Warn'] }, 'must not contain both Deny and Warn'],
      [{ policyName: '' }, 'spec.policyName: Required value'],
      [
        { paramRef: { parameterNotFoundAction: 'Deny' } },
        'spec.paramRef: Required value: one of name or selector must be specified',
      ],
    ];
    for (const [changes, message] of wrong) {
      const { status, body } = await server.post(bindings, binding(changes));
      expect([message, status]).to.deep.equal([message, 422]);
      expect(body.message).to.contain(message);
    }
  });
});
