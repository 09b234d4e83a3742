import type { Message } from './message.ts';
import { admissionMessages } from './admission-messages.ts';
import { definitionMessages } from './definition-messages.ts';
import { labelSelector, message, metadata } from './metadata-message.ts';
import { reviewMessages } from './review-messages.ts';

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

const secret = message({
  1: ['metadata', metadata],
  2: ['data', 'bytes', 'map'],
  3: ['type', 'string'],
  4: ['stringData', 'string', 'map'],
  5: ['immutable', 'boolean', 'optional'],
});

const scope = message({ 1: ['scopeName', 'string'], 2: ['operator', 'string'], 3: ['values', 'string', 'list'] });

/**
 * The spec of a ResourceQuota. A quota of this server has no scopes, but the message has fields for them, so that
 * fieldValidation reports them as it does in a JSON body.
 */
const quotaSpec = message({
  1: ['hard', 'quantity', 'map'],
  2: ['scopes', 'string', 'list'],
  3: ['scopeSelector', message({ 1: ['matchExpressions', scope, 'list'] })],
});

const resourceQuota = message({
  1: ['metadata', metadata],
  2: ['spec', quotaSpec],
  3: ['status', message({ 1: ['hard', 'quantity', 'map'], 2: ['used', 'quantity', 'map'] })],
});

const configMap = message({
  1: ['metadata', metadata],
  2: ['data', 'string', 'map'],
  3: ['binaryData', 'bytes', 'map'],
  4: ['immutable', 'boolean', 'optional'],
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
  ...admissionMessages,
  ...definitionMessages,
  ...reviewMessages,
};

/** Returns the message of a built-in kind of Kubernetes; undefined for other kinds, which have no form in protobuf. */
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

export const listMetaMessage: Message = message({
  2: ['resourceVersion', 'string'],
  3: ['continue', 'string'],
  4: ['remainingItemCount', 'integer', 'optional'],
});

/** The message of a watch event without its object (field 2), which is encoded in a separate envelope. */
export const watchEventMessage: Message = message({ 1: ['type', 'string'] });

const statusDetails = message({
  1: ['name', 'string'],
  2: ['group', 'string'],
  3: ['kind', 'string'],
  4: ['causes', message({ 1: ['reason', 'string'], 2: ['message', 'string'], 3: ['field', 'string'] }), 'list'],
  5: ['retryAfterSeconds', 'integer'],
  6: ['uid', 'string'],
});

const statusMessage = message({
  1: ['metadata', listMetaMessage],
  2: ['status', 'string'],
  3: ['message', 'string'],
  4: ['reason', 'string'],
  5: ['details', statusDetails],
  6: ['code', 'integer'],
});

/** Returns the message of an object in a response: a Status, or an object of a kind that {@link messageOf} knows. */
export function answerMessageOf(apiVersion: string, kind: string): Message | undefined {
  if (apiVersion === 'v1' && kind === 'Status') return statusMessage;
  const name = `${apiVersion.includes('/') ? '' : '/'}${apiVersion}/${kind}`;
  return Object.hasOwn(messages, name) ? messages[name] : undefined;
}
