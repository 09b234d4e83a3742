import { readFileSync } from 'node:fs';
import type { JsonObject } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { decodeProtobufObject } from './decode-object.ts';
import { encodeItem, encodeProtobufEvent, encodeProtobufList, encodeProtobufObject } from './encode-object.ts';
import { messageOf } from './object-messages.ts';

const file = new URL('../../../test/vectors/protobuf-bodies.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as {
  readonly cases: readonly { readonly client: string; readonly base64: string }[];
};

function decode(body: Buffer, object: JsonObject): object {
  const [group = '', version = ''] = String(object['apiVersion']).includes('/')
    ? String(object['apiVersion']).split('/')
    : ['', String(object['apiVersion'])];
  const message = messageOf({ group, version, kind: String(object['kind']) });
  if (message === undefined) throw new Error('no message');
  return decodeProtobufObject(message, body);
}

const metadata = {
  name: 'a',
  namespace: 'shop',
  uid: 'u1',
  resourceVersion: '7',
  generation: 2,
  creationTimestamp: '2026-01-01T00:00:00Z',
  labels: { a: 'b', __proto__x: '' },
  ownerReferences: [
    { apiVersion: 'v1', kind: 'Person', name: 'p', uid: 'u2', controller: true, blockOwnerDeletion: false },
  ],
  finalizers: ['example.com/x'],
};

const objects: readonly JsonObject[] = [
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata,
    data: { k: 'v', empty: '' },
    binaryData: { b: 'AAEC' },
    immutable: true,
  },
  { apiVersion: 'v1', kind: 'Secret', metadata, data: { k: 'djE=' }, type: 'Opaque' },
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata, automountServiceAccountToken: false },
  { apiVersion: 'v1', kind: 'Namespace', metadata, spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } },
  {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata,
    spec: {
      hard: { 'count/secrets': '5' },
      scopes: ['NotBestEffort'],
      scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }] },
    },
  },
  {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    metadata,
    spec: {
      resourceAttributes: {
        verb: 'list',
        fieldSelector: { requirements: [{ key: 'spec.class', operator: 'In', values: ['a', 'b'] }] },
        labelSelector: { rawSelector: 'a=b' },
      },
      user: 'ann',
      groups: ['staff'],
      extra: { 'example.com/scopes': ['read', 'write'], 'example.com/none': [] },
    },
  },
  {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata,
    spec: { holderIdentity: '', leaseTransitions: 0, renewTime: '2026-11-21T07:12:23.179533Z' },
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata,
    rules: [{ verbs: ['get'], apiGroups: [''], resources: ['secrets'] }],
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata,
    webhooks: [
      {
        name: 'a.example.com',
        clientConfig: { service: { namespace: 'shop', name: 'hooks', path: '/x', port: 443 }, caBundle: 'AAEC' },
        rules: [{ operations: ['CREATE'], apiGroups: ['*'], apiVersions: ['v1'], resources: ['persons'], scope: '*' }],
        failurePolicy: 'Fail',
        matchPolicy: 'Equivalent',
        objectSelector: { matchLabels: { a: 'b' } },
        sideEffects: 'None',
        timeoutSeconds: 10,
        admissionReviewVersions: ['v1'],
        reinvocationPolicy: 'Never',
        matchConditions: [{ name: 'c', expression: 'true' }],
      },
    ],
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata,
    spec: {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      matchConstraints: {
        matchPolicy: 'Exact',
        resourceRules: [
          { resourceNames: ['a'], operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['secrets'] },
        ],
      },
      validations: [{ expression: 'true', reason: 'Forbidden', messageExpression: '"no"' }],
      failurePolicy: 'Fail',
      auditAnnotations: [{ key: 'k', valueExpression: '"v"' }],
      variables: [{ name: 'a', expression: '1' }],
    },
    status: { observedGeneration: 2, conditions: [{ type: 'A', status: 'True' }] },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata,
    spec: {
      policyName: 'a',
      paramRef: { name: 'p', parameterNotFoundAction: 'Deny' },
      validationActions: ['Deny', 'Audit'],
    },
  },
  {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata,
    spec: {
      group: 'shop.example.com',
      names: { plural: 'widgets', kind: 'Widget', shortNames: ['wd'] },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: false,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                size: { type: 'number', minimum: 0.5, maximum: -3, default: 0, enum: [1, null, 'a', { b: [] }] },
                free: { type: 'object', additionalProperties: true },
                closed: { type: 'object', additionalProperties: false },
                map: { type: 'object', additionalProperties: { type: 'string', maxLength: 0 } },
                list: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
                empty: {},
                wild: { 'x-kubernetes-preserve-unknown-fields': true, default: { a: { b: 1 } } },
              },
              anyOf: [{ required: ['size'] }, { not: { required: ['free'] } }],
              'x-kubernetes-validations': [{ rule: 'true', fieldPath: '.size', optionalOldSelf: false }],
            },
          },
          subresources: { status: {}, scale: { specReplicasPath: '.a', statusReplicasPath: '.b' } },
          additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '.a', priority: 1 }],
          selectableFields: [{ jsonPath: '.spec.a' }],
        },
      ],
      conversion: {
        strategy: 'Webhook',
        webhook: { clientConfig: { url: 'https://a', caBundle: 'AAEC' }, conversionReviewVersions: ['v1'] },
      },
    },
    status: { storedVersions: ['v1'], acceptedNames: { plural: 'widgets', kind: 'Widget' } },
  },
];

describe('encodeProtobufObject', () => {
  for (const object of objects) {
    it(`encodes a ${String(object['kind'])} that decodes to the same object`, () => {
      expect(decode(encodeProtobufObject(object), object)).to.deep.equal(object);
    });
  }

  const recorded: readonly (readonly [client: string, apiVersion: string, kind: string])[] = [
    ['create ns', 'v1', 'Namespace'],
    ['client-go leader election', 'coordination.k8s.io/v1', 'Lease'],
    ['auth can-i', 'authorization.k8s.io/v1', 'SelfSubjectAccessReview'],
    ['create token', 'authentication.k8s.io/v1', 'TokenRequest'],
  ];
  for (const [client, apiVersion, kind] of recorded) {
    it(`encodes the object in the recorded body of ${client} so that it decodes to the same object`, () => {
      const body = Buffer.from(cases.find((each) => each.client === client)?.base64 ?? '', 'base64');
      const read = { ...decode(body, { apiVersion, kind }) };
      expect(decode(encodeProtobufObject(read), read)).to.deep.equal(read);
    });
  }

  it('encodes the extra values of a user, each as a list of strings', () => {
    const userInfo = { username: 'ann', extra: { k: ['v', 'w'] } };
    const written = encodeProtobufObject({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
      status: { userInfo },
    });
    // Field 4 of UserInfo is a map entry: field 1 has the key, and field 2 an ExtraValue, in which each item is a field
    // 1.
    expect(written.includes(Buffer.from('\x22\x0b\x0a\x01k\x12\x06\x0a\x01v\x0a\x01w'))).to.equal(true);
  });

  it('encodes a list with the prefix "k8s", its kind and its items', () => {
    const [object] = objects;
    if (object === undefined) throw new Error('no object');
    const head = { apiVersion: 'v1', kind: 'ConfigMapList', metadata: { resourceVersion: '9' } };
    const list = encodeProtobufList(head, [encodeItem(object), encodeItem(object)]);
    expect(list.subarray(0, 4).toString()).to.equal('k8s\0');
    expect(list.includes('ConfigMapList')).to.equal(true);
    expect(list.toString('latin1').split('example.com/x')).to.have.length(3);
  });

  it('encodes the length of a watch event before the event', () => {
    const event = encodeProtobufEvent('ADDED', { ...objects[0] });
    expect(event.readUInt32BE()).to.equal(event.length - 4);
    expect(event.subarray(4, 11)).to.deep.equal(Buffer.from([10, 5, ...Buffer.from('ADDED')]));
  });

  it('throws for kinds that are not built in, because they have no protobuf message', () => {
    expect(() => encodeProtobufObject({ apiVersion: 'a/v1', kind: 'B' })).to.throw('a/v1 B has no protobuf message');
  });
});
