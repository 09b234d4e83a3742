import type { FieldType, Message, MessageField } from './message.ts';

type Fields = Readonly<Record<number, readonly [name: string, type: FieldType, is?: MessageField['is']]>>;

function message(fields: Fields): Message {
  return new Map(
    Object.entries(fields).map(([number, [name, type, is]]) => [
      Number(number),
      { name, type, ...(is === undefined ? {} : { is }) },
    ]),
  );
}

const ownerReference = message({
  1: ['kind', 'string'],
  3: ['name', 'string'],
  4: ['uid', 'string'],
  5: ['apiVersion', 'string'],
  6: ['controller', 'boolean', 'optional'],
  7: ['blockOwnerDeletion', 'boolean', 'optional'],
});

// Without managedFields (17), which the server sets.
const metadata = message({
  1: ['name', 'string'],
  2: ['generateName', 'string'],
  3: ['namespace', 'string'],
  5: ['uid', 'string'],
  6: ['resourceVersion', 'string'],
  7: ['generation', 'integer'],
  8: ['creationTimestamp', 'time'],
  9: ['deletionTimestamp', 'time'],
  10: ['deletionGracePeriodSeconds', 'integer', 'optional'],
  11: ['labels', 'string', 'map'],
  12: ['annotations', 'string', 'map'],
  13: ['ownerReferences', ownerReference, 'list'],
  14: ['finalizers', 'string', 'list'],
});

const objectReference = message({
  1: ['kind', 'string'],
  2: ['namespace', 'string'],
  3: ['name', 'string'],
  4: ['uid', 'string'],
  5: ['apiVersion', 'string'],
  6: ['resourceVersion', 'string'],
  7: ['fieldPath', 'string'],
});

const eventSource = message({ 1: ['component', 'string'], 2: ['host', 'string'] });
const eventSeries = message({ 1: ['count', 'integer'], 2: ['lastObservedTime', 'microTime'] });

const namespaceCondition = message({
  1: ['type', 'string'],
  2: ['status', 'string'],
  4: ['lastTransitionTime', 'time'],
  5: ['reason', 'string'],
  6: ['message', 'string'],
});

const namespace = message({
  1: ['metadata', metadata],
  2: ['spec', message({ 1: ['finalizers', 'string', 'list'] })],
  3: ['status', message({ 1: ['phase', 'string'], 2: ['conditions', namespaceCondition, 'list'] })],
});

const event = message({
  1: ['metadata', metadata],
  2: ['involvedObject', objectReference],
  3: ['reason', 'string'],
  4: ['message', 'string'],
  5: ['source', eventSource],
  6: ['firstTimestamp', 'time'],
  7: ['lastTimestamp', 'time'],
  8: ['count', 'integer'],
  9: ['type', 'string'],
  10: ['eventTime', 'microTime'],
  11: ['series', eventSeries],
  12: ['action', 'string'],
  13: ['related', objectReference],
  14: ['reportingComponent', 'string'],
  15: ['reportingInstance', 'string'],
});

const eventOfGroup = message({
  1: ['metadata', metadata],
  2: ['eventTime', 'microTime'],
  3: ['series', eventSeries],
  4: ['reportingController', 'string'],
  5: ['reportingInstance', 'string'],
  6: ['action', 'string'],
  7: ['reason', 'string'],
  8: ['regarding', objectReference],
  9: ['related', objectReference],
  10: ['note', 'string'],
  11: ['type', 'string'],
  12: ['deprecatedSource', eventSource],
  13: ['deprecatedFirstTimestamp', 'time'],
  14: ['deprecatedLastTimestamp', 'time'],
  15: ['deprecatedCount', 'integer'],
});

const lease = message({
  1: ['metadata', metadata],
  2: [
    'spec',
    message({
      1: ['holderIdentity', 'string', 'optional'],
      2: ['leaseDurationSeconds', 'integer', 'optional'],
      3: ['acquireTime', 'microTime'],
      4: ['renewTime', 'microTime'],
      5: ['leaseTransitions', 'integer', 'optional'],
      6: ['strategy', 'string', 'optional'],
      7: ['preferredHolder', 'string', 'optional'],
    }),
  ],
});

const policyRule = message({
  1: ['verbs', 'string', 'list'],
  2: ['apiGroups', 'string', 'list'],
  3: ['resources', 'string', 'list'],
  4: ['resourceNames', 'string', 'list'],
  5: ['nonResourceURLs', 'string', 'list'],
});

const labelSelector = message({
  1: ['matchLabels', 'string', 'map'],
  2: [
    'matchExpressions',
    message({ 1: ['key', 'string'], 2: ['operator', 'string'], 3: ['values', 'string', 'list'] }),
    'list',
  ],
});

const role = message({ 1: ['metadata', metadata], 2: ['rules', policyRule, 'list'] });

const clusterRole = message({
  1: ['metadata', metadata],
  2: ['rules', policyRule, 'list'],
  3: ['aggregationRule', message({ 1: ['clusterRoleSelectors', labelSelector, 'list'] })],
});

const binding = message({
  1: ['metadata', metadata],
  2: [
    'subjects',
    message({ 1: ['kind', 'string'], 2: ['apiGroup', 'string'], 3: ['name', 'string'], 4: ['namespace', 'string'] }),
    'list',
  ],
  3: ['roleRef', message({ 1: ['apiGroup', 'string'], 2: ['kind', 'string'], 3: ['name', 'string'] })],
});

const serviceAccount = message({
  1: ['metadata', metadata],
  2: ['secrets', objectReference, 'list'],
  3: ['imagePullSecrets', message({ 1: ['name', 'string'] }), 'list'],
  4: ['automountServiceAccountToken', 'boolean', 'optional'],
});

const tokenRequestSpec = message({
  1: ['audiences', 'string', 'list'],
  3: [
    'boundObjectRef',
    message({ 1: ['kind', 'string'], 2: ['apiVersion', 'string'], 3: ['name', 'string'], 4: ['uid', 'string'] }),
  ],
  4: ['expirationSeconds', 'integer', 'optional'],
});

const secret = message({
  1: ['metadata', metadata],
  2: ['data', 'bytes', 'map'],
  3: ['type', 'string'],
  4: ['stringData', 'string', 'map'],
  5: ['immutable', 'boolean', 'optional'],
});

const resourceQuota = message({
  1: ['metadata', metadata],
  2: ['spec', message({ 1: ['hard', 'quantity', 'map'] })],
  3: ['status', message({ 1: ['hard', 'quantity', 'map'], 2: ['used', 'quantity', 'map'] })],
});

const configMap = message({
  1: ['metadata', metadata],
  2: ['data', 'string', 'map'],
  3: ['binaryData', 'bytes', 'map'],
  4: ['immutable', 'boolean', 'optional'],
});

const resourceAttributes = message({
  1: ['namespace', 'string'],
  2: ['verb', 'string'],
  3: ['group', 'string'],
  4: ['version', 'string'],
  5: ['resource', 'string'],
  6: ['subresource', 'string'],
  7: ['name', 'string'],
});

const nonResourceAttributes = message({ 1: ['path', 'string'], 2: ['verb', 'string'] });

function review(spec: Fields): Message {
  return message({ 1: ['metadata', metadata], 2: ['spec', message(spec)] });
}

const attributes: Fields = {
  1: ['resourceAttributes', resourceAttributes],
  2: ['nonResourceAttributes', nonResourceAttributes],
};

// Without `extra` (5), on which no response depends.
const subjectReview = review({
  ...attributes,
  3: ['user', 'string'],
  4: ['groups', 'string', 'list'],
  6: ['uid', 'string'],
});

const messages: Readonly<Record<string, Message>> = {
  '/v1/Namespace': namespace,
  '/v1/Event': event,
  'events.k8s.io/v1/Event': eventOfGroup,
  '/v1/Secret': secret,
  '/v1/ConfigMap': configMap,
  '/v1/ResourceQuota': resourceQuota,
  'coordination.k8s.io/v1/Lease': lease,
  'rbac.authorization.k8s.io/v1/Role': role,
  'rbac.authorization.k8s.io/v1/ClusterRole': clusterRole,
  'rbac.authorization.k8s.io/v1/RoleBinding': binding,
  'rbac.authorization.k8s.io/v1/ClusterRoleBinding': binding,
  '/v1/ServiceAccount': serviceAccount,
  // Its field 3 is the status, which a client does not send.
  'authentication.k8s.io/v1/TokenRequest': message({ 1: ['metadata', metadata], 2: ['spec', tokenRequestSpec] }),
  // Its field 2 is the status, which a client does not send.
  'authentication.k8s.io/v1/SelfSubjectReview': message({ 1: ['metadata', metadata] }),
  'authentication.k8s.io/v1/TokenReview': review({ 1: ['token', 'string'], 2: ['audiences', 'string', 'list'] }),
  'authorization.k8s.io/v1/SelfSubjectAccessReview': review(attributes),
  'authorization.k8s.io/v1/SubjectAccessReview': subjectReview,
  'authorization.k8s.io/v1/LocalSubjectAccessReview': subjectReview,
  'authorization.k8s.io/v1/SelfSubjectRulesReview': review({ 1: ['namespace', 'string'] }),
};

/** Returns the message of a kind; undefined for kinds that are only sent as JSON, as all but the built-in ones are. */
export function messageOf({
  group,
  version,
  kind,
}: {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}): Message | undefined {
  const name = `${group}/${version}/${kind}`;
  return Object.hasOwn(messages, name) ? messages[name] : undefined;
}

export const deleteOptionsMessage: Message = message({
  1: ['gracePeriodSeconds', 'integer', 'optional'],
  2: ['preconditions', message({ 1: ['uid', 'string', 'optional'], 2: ['resourceVersion', 'string', 'optional'] })],
  3: ['orphanDependents', 'boolean', 'optional'],
  4: ['propagationPolicy', 'string', 'optional'],
  5: ['dryRun', 'string', 'list'],
});
