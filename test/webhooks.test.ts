import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isApiError } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { serviceOwner } from '@homeostat/apiserver';
import { admit } from 'homeostat';
import { issuerCertificate } from './support/logins/issuer-certificate.ts';
import { apiVersion, letters, newLetter, person, Person, persons } from './support/models/models.ts';
import { createNamespaces } from './support/models/namespaces.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import { patched, webhookConfiguration, WebhookServer } from './support/network/webhook-server.ts';
import {
  definitions,
  establish,
  newWidget,
  widgetDefinition,
  widgetDefinitionPath,
  widgets,
  widgetVersion,
} from './support/definitions/widget-definition.ts';

const group = '/apis/admissionregistration.k8s.io/v1';
const mutating = `${group}/mutatingwebhookconfigurations`;
const validating = `${group}/validatingwebhookconfigurations`;

describe('admission webhooks [compat webhooks]', () => {
  let folder: string;
  let ca: string;
  let hooks: WebhookServer;
  let server: TestServer;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-webhooks-'));
    const certificate = await issuerCertificate(folder);
    ca = Buffer.from(certificate.ca).toString('base64');
    hooks = await WebhookServer.start(certificate.pem);
    server = await TestServer.start({ webhookServices: { 'shop/hooks': hooks.origin } });
    await createNamespaces(server.api.client, ['shop', 'office']);
  });

  after(async () => {
    await server.stop();
    await hooks.stop();
    await rm(folder, { recursive: true });
  });

  afterEach(async () => {
    await server.delete(validating);
    await server.delete(mutating);
    hooks.reset();
    await server.delete(persons);
  });

  const at = (path: string): object => ({ url: `${hooks.origin}${path}`, caBundle: ca });

  async function validate(path: string, fields: object = {}): Promise<void> {
    const name = `${path.slice(1)}.people.example.com`;
    const webhooks = [{ name, clientConfig: at(path), ...fields }];
    await server.create(validating, webhookConfiguration('ValidatingWebhookConfiguration', path.slice(1), webhooks));
  }

  async function mutate(path: string, fields: object = {}): Promise<void> {
    const name = `${path.slice(1)}.people.example.com`;
    const webhooks = [{ name, clientConfig: at(path), ...fields }];
    await server.create(mutating, webhookConfiguration('MutatingWebhookConfiguration', path.slice(1), webhooks));
  }

  it('a validating webhook receives the whole request, and can refuse it with a reason and a message [spec operators-review]', async () => {
    hooks.on('/guard', ({ object }) =>
      object?.spec.name === 'Eve'
        ? { allowed: false, status: { reason: 'Forbidden', code: 403, message: 'no Eves' } }
        : { allowed: true },
    );
    await validate('/guard');
    await server.create(persons, person('ann', { name: 'Ann' }));
    expectRefusal(await server.post(persons, person('eve', { name: 'Eve' })), {
      reason: 'Forbidden',
      message: 'admission webhook "guard.people.example.com" denied the request: no Eves',
    });
    const [request] = hooks.at('/guard');
    const kind = { group: 'people.example.com', version: 'v1alpha1', kind: 'Person' };
    expect(request).to.deep.include({ operation: 'CREATE', name: 'ann', kind, requestKind: kind, dryRun: false });
    expect(request.resource).to.deep.equal({ group: kind.group, version: kind.version, resource: 'persons' });
    expect(request.userInfo.username).to.equal('developer');
    expect(request.oldObject).to.equal(null);
    expect(request.object.spec).to.include({ name: 'Ann', nick: 'none' });
    expect(request.options).to.include({ kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' });
    expect(request).not.to.have.property('subResource');
  });

  it('a webhook receives creations, updates, patches, applies, and each object in the deletion of a collection', async () => {
    hooks.on('/all', () => ({ allowed: true }));
    await validate('/all');
    const ann = await server.create(letters.replace('/letters', '/namespaces/shop/letters'), newLetter('ann'));
    const path = `${letters.replace('/letters', '/namespaces/shop/letters')}/ann`;
    await server.put(path, { ...ann, metadata: { ...ann.metadata, labels: { a: 'b' } } });
    await server.patch(path, { metadata: { labels: { a: 'c' } } });
    const applied = { apiVersion, kind: 'Letter', metadata: { name: 'ann', labels: { d: 'e' } } };
    await server.patch(`${path}?fieldManager=me`, applied, { type: 'application/apply-patch+yaml' });
    await server.delete(letters.replace('/letters', '/namespaces/shop/letters'));
    const seen = hooks.at('/all').map(({ operation, name, namespace }) => `${operation} ${namespace}/${name}`);
    expect(seen).to.deep.equal([
      'CREATE shop/ann',
      'UPDATE shop/ann',
      'UPDATE shop/ann',
      'UPDATE shop/ann',
      'DELETE shop/ann',
    ]);
    const last = hooks.at('/all').at(-1);
    expect(last.object).to.equal(null);
    expect(last.oldObject.metadata).to.include({ name: 'ann' });
    expect(last.options.kind).to.equal('DeleteOptions');
  });

  it('a webhook can refuse a deletion and a dry run; dryRun is true in the review of a dry run [spec operators-webhook-dry-run]', async () => {
    hooks.on('/keep', ({ operation, dryRun }) => ({ allowed: operation !== 'DELETE' && !dryRun }));
    await validate('/keep');
    await server.create(persons, person('ann'));
    expectRefusal(await server.delete(`${persons}/ann`), {
      reason: 'BadRequest',
      message: /denied the request without explanation/,
    });
    expect((await server.get(`${persons}/ann`)).status).to.equal(200);
    expectRefusal(await server.post(`${persons}?dryRun=All`, person('bob')), { reason: 'BadRequest' });
    expect(hooks.at('/keep').at(-1)).to.deep.include({ dryRun: true, name: 'bob' });
  });

  it('a mutating webhook can change the object, which the server then prunes and validates [spec operators-webhook-patches]', async () => {
    hooks.on('/tag', () =>
      patched({ op: 'add', path: '/spec/tags', value: ['hooked'] }, { op: 'add', path: '/unknown', value: 1 }),
    );
    await mutate('/tag');
    const ann = await server.create(persons, person('ann'));
    expect(ann.spec.tags).to.deep.equal(['hooked']);
    expect(ann).not.to.have.property('unknown');
    hooks.on('/tag', () => patched({ op: 'add', path: '/spec/age', value: 900 }));
    expectRefusal(await server.post(persons, person('bob')), {
      reason: 'Invalid',
      causes: ['FieldValueInvalid spec.age'],
    });
  });

  it("mutating webhooks run in the order of their configurations' names, and validating webhooks get the result [spec operators-webhook-order]", async () => {
    const append =
      (letter: string) =>
      ({ object }: { object: { spec: { nick: string } } }) =>
        patched({ op: 'replace', path: '/spec/nick', value: object.spec.nick + letter });
    hooks.on('/c', append('c'));
    hooks.on('/a1', append('1'));
    hooks.on('/a2', append('2'));
    hooks.on('/last', ({ object }) => ({ allowed: object.spec.nick === 'none12c' }));
    await mutate('/c');
    const webhooks = ['/a1', '/a2'].map((path) => ({
      name: `${path.slice(1)}.people.example.com`,
      clientConfig: at(path),
    }));
    await server.create(mutating, webhookConfiguration('MutatingWebhookConfiguration', 'a', webhooks));
    await validate('/last');
    expect((await server.create(persons, person('ann'))).spec.nick).to.equal('none12c');
  });

  it('hooks of plugins are called before webhooks, and webhooks receive the changes of the hooks [spec operators-webhook-hooks-first]', async () => {
    hooks.on('/late', ({ object }) => ({ allowed: object.spec.nick === 'hooked' }));
    await mutate('/late');
    const owned = server.api.admissions.forOwner('early', {
      client: server.api.createPluginClient('early'),
      dependencies: [serviceOwner],
    });
    owned.add(admit(Person, { onCreate: ({ object }) => ({ ...object, spec: { ...object.spec, nick: 'hooked' } }) }));
    try {
      expect((await server.create(persons, person('ann'))).spec.nick).to.equal('hooked');
    } finally {
      owned.close();
    }
    expect((await server.post(persons, person('bob'))).status).not.to.equal(201);
  });

  it('a webhook with reinvocationPolicy IfNeeded is called again, once, when a later webhook has changed the object [spec operators-webhook-order]', async () => {
    const append =
      (letter: string) =>
      ({ object }: { object: { spec: { nick: string } } }) =>
        patched({ op: 'replace', path: '/spec/nick', value: object.spec.nick + letter });
    hooks.on('/a', append('a'));
    hooks.on('/b', append('b'));
    await mutate('/a', { reinvocationPolicy: 'IfNeeded' });
    await mutate('/b');
    expect((await server.create(persons, person('ann'))).spec.nick).to.equal('noneaba');
    expect(hooks.asked.map(({ path }) => path)).to.deep.equal(['/a', '/b', '/a']);
  });

  it('webhooks are selected by rules, labels of the object and labels of the namespace [spec operators-webhook-match]', async () => {
    hooks.on('/some', () => ({ allowed: true }));
    await server.patch('/api/v1/namespaces/shop', { metadata: { labels: { tier: 'gold' } } });
    await validate('/some', {
      rules: [
        {
          operations: ['CREATE'],
          apiGroups: ['people.example.com'],
          apiVersions: ['v1alpha1'],
          resources: ['letters'],
          scope: 'Namespaced',
        },
      ],
      namespaceSelector: { matchLabels: { tier: 'gold' } },
      objectSelector: { matchExpressions: [{ key: 'quiet', operator: 'DoesNotExist' }] },
    });
    const inNamespace = (name: string): string => letters.replace('/letters', `/namespaces/${name}/letters`);
    await server.create(persons, person('ann'));
    await server.create(inNamespace('office'), newLetter('a'));
    await server.create(inNamespace('shop'), { ...newLetter('b'), metadata: { name: 'b', labels: { quiet: '1' } } });
    await server.create(inNamespace('shop'), newLetter('c'));
    await server.patch(`${inNamespace('shop')}/c`, { metadata: { labels: { x: 'y' } } });
    expect(hooks.at('/some').map(({ name }) => name)).to.deep.equal(['c']);
  });

  it('a webhook is called only if its matchConditions are true; an error in a condition refuses the write, unless failurePolicy is Ignore [spec operators-webhook-match]', async () => {
    hooks.on('/when', () => ({ allowed: false }));
    const conditions = (expression: string): object => ({ matchConditions: [{ name: 'when', expression }] });
    await validate('/when', conditions('request.operation == "CREATE" && object.spec.name.startsWith("E")'));
    await server.create(persons, person('ann', { name: 'Ann' }));
    expectRefusal(await server.post(persons, person('eve', { name: 'Eve' })), { reason: 'BadRequest' });
    expect(hooks.at('/when').map(({ name }) => name)).to.deep.equal(['eve']);
    await server.delete(`${validating}/when`);
    await validate('/when', conditions('object.spec.absent == 1'));
    expectRefusal(await server.post(persons, person('bob')), {
      reason: 'InternalError',
      message:
        /failed calling webhook "when\.people\.example\.com": matchConditions "when" resulted in error: no such key: absent/,
    });
    await server.delete(`${validating}/when`);
    await validate('/when', { failurePolicy: 'Ignore', ...conditions('object.spec.absent == 1') });
    await server.create(persons, person('bob'));
    const wrong = { name: 'a.b.c', clientConfig: at('/when'), ...conditions('1 + ') };
    expectRefusal(await server.post(validating, webhookConfiguration('ValidatingWebhookConfiguration', 'x', [wrong])), {
      reason: 'Invalid',
      causes: ['FieldValueInvalid webhooks[0].matchConditions[0].expression'],
    });
  });

  it('CEL conditions can check the permissions of the user of the write', async () => {
    hooks.on('/may', () => ({ allowed: false }));
    const expressions = [
      '!authorizer.group("").resource("secrets").check("get").allowed()',
      '!authorizer.requestResource.check("delete").allowed()',
      'authorizer.serviceAccount("default", "ann").group("").resource("secrets").check("get").allowed()',
    ];
    for (const expression of expressions) {
      await validate('/may', { matchConditions: [{ name: 'may', expression }] });
      await server.create(persons, person('ann'));
      await server.delete(`${persons}/ann`);
      await server.delete(`${validating}/may`);
    }
    expect(hooks.at('/may')).to.have.length(0);
    await validate('/may', { matchConditions: [{ name: 'may', expression: expressions[0]?.slice(1) }] });
    expectRefusal(await server.post(persons, person('ann')), { reason: 'BadRequest' });
  });

  it('a rule for another version of the kind matches, and the webhook gets the object in the version of the rule, unless matchPolicy is Exact [spec operators-webhook-match]', async () => {
    hooks.on('/same', () => ({ allowed: true }));
    hooks.on('/exact', () => ({ allowed: false }));
    const versions = [widgetVersion(), widgetVersion({ name: 'v2', storage: false })];
    await establish(server, widgetDefinition({ versions }));
    const rules = [
      { operations: ['CREATE'], apiGroups: ['shop.example.com'], apiVersions: ['v1'], resources: ['widgets'] },
    ];
    await validate('/same', { rules });
    await validate('/exact', { rules, matchPolicy: 'Exact' });
    const path = '/apis/shop.example.com/v2/widgets';
    await server.create(path, { ...newWidget('a'), apiVersion: 'shop.example.com/v2' });
    const [request] = hooks.at('/same');
    expect(request.object.apiVersion).to.equal('shop.example.com/v1');
    expect([request.kind.version, request.resource.version]).to.deep.equal(['v1', 'v1']);
    expect([request.requestKind.version, request.requestResource.version]).to.deep.equal(['v2', 'v2']);
    expect(hooks.at('/exact')).to.have.length(0);
    await server.delete(validating);
    await server.delete(widgetDefinitionPath);
    await eventually(async () => (await server.get(widgetDefinitionPath)).status === 404);
  });

  it('rules for CONNECT are accepted, but match no request, because the server has no such paths', async () => {
    hooks.on('/connect', () => ({ allowed: false }));
    const rules = [
      { operations: ['CONNECT'], apiGroups: ['*'], apiVersions: ['*'], resources: ['pods/exec', 'persons'] },
    ];
    await validate('/connect', { rules });
    await server.create(persons, person('ann'));
    expect(hooks.at('/connect')).to.have.length(0);
  });

  it('metrics count calls, refusals and failures by webhook', async () => {
    hooks.on('/no', () => ({ allowed: false, status: { code: 409 } }));
    hooks.on('/gone', (_request, response) => void response.writeHead(500).end());
    await validate('/no');
    hooks.on('/yes', () => ({ allowed: true }));
    hooks.on('/odd', () => ({}));
    await validate('/gone', { failurePolicy: 'Ignore' });
    await validate('/yes');
    await validate('/odd', { failurePolicy: 'Fail' });
    await server.post(persons, person('ann'));
    const { text } = await server.get('/metrics');
    const of = 'type="validating",operation="CREATE"';
    const prefix = 'apiserver_admission_webhook';
    expect(text).to.include(
      `${prefix}_rejection_count{name="no.people.example.com",${of},error_type="no_error",rejection_code="409"} 1`,
    );
    expect(text).to.include(`${prefix}_fail_open_count{name="gone.people.example.com",type="validating"} 1`);
    expect(text).to.include(
      `${prefix}_admission_duration_seconds_count{name="no.people.example.com",${of},rejected="true"} 1`,
    );
    const requests = [
      ['no', 409, true],
      ['gone', 500, false],
      ['yes', 200, false],
      ['odd', 503, true],
    ] as const;
    for (const [name, code, rejected] of requests)
      expect(text).to.include(
        `${prefix}_request_total{name="${name}.people.example.com",${of},code="${code}",rejected="${rejected}"} 1`,
      );
    expect(text).to.include(
      `${prefix}_rejection_count{name="odd.people.example.com",${of},error_type="calling_webhook_error",rejection_code="503"} 1`,
    );
  });

  it('warnings of webhooks are returned, also together with a refusal [spec operators-webhook-reports]', async () => {
    hooks.on('/warn', () => ({ allowed: false, warnings: ['be careful'], status: { message: 'no' } }));
    await validate('/warn');
    const answer = await server.post(persons, person('ann'));
    expect(answer.status).to.equal(400);
    expect(answer.headers.warning).to.equal('299 - "be careful"');
  });

  it('writes of in-process clients are also sent to webhooks', async () => {
    hooks.on('/own', () => ({ allowed: false, status: { code: 403, message: 'not you' } }));
    await validate('/own');
    const client = server.api.createPluginClient('staff');
    const refused = await client.create(Person, person('ann') as never).catch((error: unknown) => error);
    expect(isApiError(refused) && refused.message).to.match(/denied the request: not you/);
    expect(hooks.at('/own')[0].userInfo.username).to.equal('system:plugin:staff');
  });

  it('a webhook call holds no lock: another write of the object succeeds, and the call is then repeated with the new state [spec operators-webhook-connections]', async () => {
    await server.create(persons, person('ann'));
    const held: (() => void)[] = [];
    hooks.on('/slow', ({ object }) =>
      object.metadata.labels?.slow === undefined || held.length > 0
        ? { allowed: true }
        : new Promise((resolve) => void held.push(() => resolve({ allowed: true }))),
    );
    await validate('/slow');
    const slow = server.patch(`${persons}/ann`, { metadata: { labels: { slow: '1' } } });
    await eventually(() => held.length === 1);
    expect((await server.patch(`${persons}/ann`, { metadata: { labels: { fast: '1' } } })).status).to.equal(200);
    held[0]?.();
    const { body } = await slow;
    expect(body.metadata.labels).to.deep.equal({ slow: '1', fast: '1' });
    expect(hooks.at('/slow').at(-1).oldObject.metadata.labels).to.deep.equal({ fast: '1' });
  });

  it('a connection to a webhook stays open for the next call [spec operators-webhook-connections]', async () => {
    hooks.on('/kept', () => ({ allowed: true }));
    await validate('/kept');
    const before = hooks.connections.size;
    for (const name of ['a', 'b', 'c']) await server.create(persons, person(name));
    expect(hooks.connections.size - before).to.be.at.most(1);
  });

  it('a service is called at its address in --service-map; without an address, the error names this option [spec operators-webhook-services]', async () => {
    hooks.on('/mapped', () => ({ allowed: true }));
    const clientConfig = { service: { namespace: 'shop', name: 'hooks', path: '/mapped' }, caBundle: ca };
    await validate('/mapped', { clientConfig });
    await server.create(persons, person('ann'));
    expect(hooks.at('/mapped')).to.have.length(1);
    await validate('/lost', { clientConfig: { service: { namespace: 'shop', name: 'lost' } } });
    expectRefusal(await server.post(persons, person('bob')), {
      reason: 'InternalError',
      message: /failed calling webhook "lost\.people\.example\.com": .*--service-map shop\/lost=https/,
    });
  });

  it('webhook configurations are never sent to webhooks, so that they can be deleted', async () => {
    hooks.on('/never', () => ({ allowed: false }));
    const rules = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }];
    await validate('/never', { rules });
    expectRefusal(await server.post(persons, person('ann')), { reason: 'BadRequest' });
    expect((await server.delete(`${validating}/never`)).status).to.equal(200);
    expect(hooks.at('/never').map(({ kind }) => kind.kind)).to.deep.equal(['Person']);
  });

  it('an empty caBundle is accepted, because tools fill it in later [spec operators-webhook-certificates]', async () => {
    const clientConfig = { url: `${hooks.origin}/empty`, caBundle: '' };
    const name = 'empty.people.example.com';
    const webhooks = [{ name, clientConfig, rules: [] }];
    await server.create(validating, webhookConfiguration('ValidatingWebhookConfiguration', 'empty', webhooks));
    const wrong = [{ name, clientConfig: { ...clientConfig, caBundle: 'no base64' }, rules: [] }];
    expectRefusal(
      await server.post(validating, webhookConfiguration('ValidatingWebhookConfiguration', 'wrong', wrong)),
      {
        reason: 'Invalid',
      },
    );
    const webhook = { clientConfig, conversionReviewVersions: ['v1'] };
    const versions = [widgetVersion({})];
    const definition = widgetDefinition({ versions, conversion: { strategy: 'Webhook', webhook } });
    expect((await server.post(`${definitions}?dryRun=All`, definition)).status).to.equal(201);
  });

  it('invalid configurations are refused with the causes that kube-apiserver sends [spec operators-webhook-dry-run]', async () => {
    const wrong = webhookConfiguration('ValidatingWebhookConfiguration', 'wrong', [
      {
        name: 'short',
        clientConfig: { url: 'http://user@example.com/?a=b' },
        rules: [{ operations: ['*', 'CREATE'], apiGroups: [], apiVersions: [''], resources: ['*', 'persons'] }],
        timeoutSeconds: 31,
        sideEffects: 'Some',
        failurePolicy: 'Maybe',
        admissionReviewVersions: ['v2'],
      },
      { name: 'a.b.c', clientConfig: {} },
      { name: 'a.b.d', clientConfig: { service: { namespace: 'a', name: 'b', path: 'c//d', port: 0 } } },
    ]);
    expectRefusal(await server.post(validating, wrong), {
      reason: 'Invalid',
      causes: [
        'FieldValueInvalid webhooks[0].name',
        'FieldValueInvalid webhooks[0].rules[0].operations',
        'FieldValueRequired webhooks[0].rules[0].apiGroups',
        'FieldValueRequired webhooks[0].rules[0].apiVersions[0]',
        'FieldValueInvalid webhooks[0].rules[0].resources',
        'FieldValueNotSupported webhooks[0].failurePolicy',
        'FieldValueNotSupported webhooks[0].sideEffects',
        'FieldValueInvalid webhooks[0].timeoutSeconds',
        'FieldValueInvalid webhooks[0].clientConfig.url',
        'FieldValueInvalid webhooks[0].clientConfig.url',
        'FieldValueInvalid webhooks[0].clientConfig.url',
        'FieldValueInvalid webhooks[0].admissionReviewVersions',
        'FieldValueRequired webhooks[1].clientConfig',
        'FieldValueInvalid webhooks[2].clientConfig.service.port',
        'FieldValueInvalid webhooks[2].clientConfig.service.path',
        'FieldValueInvalid webhooks[2].clientConfig.service.path',
      ],
    });
  });

  it('audit annotations of webhooks are in the audit entry of the write, under the name of the webhook [spec operators-webhook-reports]', async () => {
    hooks.on('/scored', () => ({ allowed: true, auditAnnotations: { score: '7' } }));
    const logFile = join(folder, 'audit.log');
    const audited = await TestServer.start({ audit: { logFile } });
    try {
      const webhook = { name: 'scored.people.example.com', clientConfig: at('/scored') };
      await audited.create(validating, webhookConfiguration('ValidatingWebhookConfiguration', 'scored', [webhook]));
      await audited.create(persons, person('ann'));
    } finally {
      await audited.stop();
    }
    expect(await readFile(logFile, 'utf8')).to.contain('"scored.people.example.com/score":"7"');
  });

  it('a webhook receives a Scale for a write of /scale, and can change its replicas', async () => {
    hooks.on('/scaled', ({ object }) =>
      patched({ op: 'replace', path: '/spec/replicas', value: object.spec.replicas + 1 }),
    );
    const rules = [
      { operations: ['UPDATE'], apiGroups: ['shop.example.com'], apiVersions: ['*'], resources: ['widgets/scale'] },
    ];
    const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
    await establish(server, widgetDefinition({ versions: [widgetVersion({ subresources: { status: {}, scale } })] }));
    await server.create(widgets, newWidget('a', { replicas: 1 }));
    await mutate('/scaled', { rules });
    const { body } = await server.patch(`${widgets}/a/scale`, { spec: { replicas: 4 } });
    expect(body).to.deep.include({ kind: 'Scale', spec: { replicas: 5 } });
    const [request] = hooks.at('/scaled');
    expect(request).to.include({ subResource: 'scale', requestSubResource: 'scale', name: 'a' });
    expect(request.kind).to.deep.equal({ group: 'autoscaling', version: 'v1', kind: 'Scale' });
    expect(request.oldObject).to.deep.include({ kind: 'Scale', spec: { replicas: 1 } });
    await server.delete(widgetDefinitionPath);
  });

  it('configurations get the defaults of Kubernetes, and have the table columns of Kubernetes [spec operators-columns]', async () => {
    await validate('/guard');
    const { body } = await server.get(`${validating}/guard`);
    expect(body.webhooks[0]).to.deep.include({
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      namespaceSelector: {},
      objectSelector: {},
      timeoutSeconds: 10,
    });
    expect(body.webhooks[0].rules[0].scope).to.equal('*');
    const table = await server.get(validating, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
    expect(table.body.columnDefinitions.map(({ name }: { name: string }) => name)).to.deep.equal([
      'Name',
      'Webhooks',
      'Age',
    ]);
    expect(table.body.rows[0].cells.slice(0, 2)).to.deep.equal(['guard', 1]);
  });
});
