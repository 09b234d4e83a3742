import { expect } from 'chai';
import { TestServer } from '../support/servers/test-server.ts';

const apiGroup = 'rbac.authorization.k8s.io';
const roleRef = { apiGroup, kind: 'ClusterRole', name: 'view' };
const type = 'application/vnd.kubernetes.protobuf';

interface Recorded {
  readonly path: string;
  readonly base64: string;
  readonly fields: object;
}

/** The recorded request bodies of kubectl, by command. */
const recorded: Readonly<Record<string, Recorded>> = {
  'create clusterrole --resource-name': {
    path: 'clusterroles',
    base64:
      'azhzAAorChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgtDbHVzdGVyUm9sZRJBChIKAmNyEgAaACIAKgAyADgAQgASKwoDZ2V0CgRsaXN0EhNjb29yZGluYXRpb24uazhzLmlvGgZsZWFzZXMiAWEaACIA',
    fields: {
      rules: [
        { verbs: ['get', 'list'], apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: ['a'] },
      ],
    },
  },
  'create clusterrole --aggregation-rule': {
    path: 'clusterroles',
    base64:
      'azhzAAorChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgtDbHVzdGVyUm9sZRIhChMKA2FnZxIAGgAiACoAMgA4AEIAGgoKCAoGCgFhEgFiGgAiAA==',
    fields: { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } },
  },
  'create role': {
    path: 'namespaces/default/roles',
    base64:
      'azhzAAokChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgRSb2xlEj4KGAoBchIAGgdkZWZhdWx0IgAqADIAOABCABIiCgNnZXQSE2Nvb3JkaW5hdGlvbi5rOHMuaW8aBmxlYXNlcxoAIgA=',
    fields: { rules: [{ verbs: ['get'], apiGroups: ['coordination.k8s.io'], resources: ['leases'] }] },
  },
  'create rolebinding': {
    path: 'namespaces/default/rolebindings',
    base64:
      'azhzAAorChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgtSb2xlQmluZGluZxK9AQoZCgJyYhIAGgdkZWZhdWx0IgAqADIAOABCABImCgRVc2VyEhlyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvGgF1IgASJwoFR3JvdXASGXJiYWMuYXV0aG9yaXphdGlvbi5rOHMuaW8aAWciABIfCg5TZXJ2aWNlQWNjb3VudBIAGgJzYSIHZGVmYXVsdBouChlyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvEgtDbHVzdGVyUm9sZRoEdmlldxoAIgA=',
    fields: {
      roleRef,
      subjects: [
        { kind: 'User', apiGroup, name: 'u' },
        { kind: 'Group', apiGroup, name: 'g' },
        { kind: 'ServiceAccount', name: 'sa', namespace: 'default' },
      ],
    },
  },
  'create clusterrolebinding': {
    path: 'clusterrolebindings',
    base64:
      'azhzAAoyChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEhJDbHVzdGVyUm9sZUJpbmRpbmcSbgoTCgNjcmISABoAIgAqADIAOABCABInCgVHcm91cBIZcmJhYy5hdXRob3JpemF0aW9uLms4cy5pbxoBZyIAGi4KGXJiYWMuYXV0aG9yaXphdGlvbi5rOHMuaW8SC0NsdXN0ZXJSb2xlGgR2aWV3GgAiAA==',
    fields: { roleRef, subjects: [{ kind: 'Group', apiGroup, name: 'g' }] },
  },
  'create clusterrole --non-resource-url': {
    path: 'clusterroles',
    base64:
      'azhzAAorChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgtDbHVzdGVyUm9sZRInChQKBHVybHMSABoAIgAqADIAOABCABIPCgNnZXQqCC9tZXRyaWNzGgAiAA==',
    fields: { rules: [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }] },
  },
};

describe('roles and bindings in protobuf', () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start();
  });
  after(() => server.stop());

  for (const [command, { path, base64, fields }] of Object.entries(recorded)) {
    it(`are decoded as kubectl ${command} encodes them`, async () => {
      const headers = { accept: `${type},application/json` };
      const answer = await server.post(`/apis/${apiGroup}/v1/${path}`, Buffer.from(base64, 'base64'), {
        type,
        headers,
      });
      expect(answer.status, answer.text).to.equal(201);
      expect(answer.body).to.deep.include(fields);
    });
  }
});
