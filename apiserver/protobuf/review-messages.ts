import type { Message } from './message.ts';
import { message, metadata, requirement } from './metadata-message.ts';
import type { MessageFields } from './metadata-message.ts';

const tokenRequestSpec = message({
  1: ['audiences', 'string', 'list'],
  3: [
    'boundObjectRef',
    message({ 1: ['kind', 'string'], 2: ['apiVersion', 'string'], 3: ['name', 'string'], 4: ['uid', 'string'] }),
  ],
  4: ['expirationSeconds', 'integer', 'optional'],
});

/** The message of a field selector, and of a label selector: they have the same fields. */
const selector = message({ 1: ['rawSelector', 'string'], 2: ['requirements', requirement, 'list'] });

const resourceAttributes = message({
  1: ['namespace', 'string'],
  2: ['verb', 'string'],
  3: ['group', 'string'],
  4: ['version', 'string'],
  5: ['resource', 'string'],
  6: ['subresource', 'string'],
  7: ['name', 'string'],
  8: ['fieldSelector', selector],
  9: ['labelSelector', selector],
});

const nonResourceAttributes = message({ 1: ['path', 'string'], 2: ['verb', 'string'] });

function review(spec: MessageFields, status: MessageFields = accessStatus): Message {
  return message({ 1: ['metadata', metadata], 2: ['spec', message(spec)], 3: ['status', message(status), 'shown'] });
}

const accessStatus: MessageFields = {
  1: ['allowed', 'boolean', 'optional'],
  2: ['reason', 'string'],
  3: ['evaluationError', 'string'],
  4: ['denied', 'boolean'],
};

const rulesStatus: MessageFields = {
  1: [
    'resourceRules',
    message({
      1: ['verbs', 'string', 'list'],
      2: ['apiGroups', 'string', 'list'],
      3: ['resources', 'string', 'list'],
      4: ['resourceNames', 'string', 'list'],
    }),
    'list',
  ],
  2: [
    'nonResourceRules',
    message({ 1: ['verbs', 'string', 'list'], 2: ['nonResourceURLs', 'string', 'list'] }),
    'list',
  ],
  3: ['incomplete', 'boolean', 'optional'],
  4: ['evaluationError', 'string'],
};

const userInfo = message({
  1: ['username', 'string'],
  2: ['uid', 'string'],
  3: ['groups', 'string', 'list'],
  4: ['extra', 'texts', 'map'],
});

const tokenStatus: MessageFields = {
  1: ['authenticated', 'boolean'],
  2: ['user', userInfo],
  3: ['error', 'string'],
  4: ['audiences', 'string', 'list'],
};

const tokenRequestStatus = message({ 1: ['token', 'string'], 2: ['expirationTimestamp', 'time'] });

const attributes: MessageFields = {
  1: ['resourceAttributes', resourceAttributes],
  2: ['nonResourceAttributes', nonResourceAttributes],
};

const subjectReview = review({
  ...attributes,
  3: ['user', 'string'],
  4: ['groups', 'string', 'list'],
  5: ['extra', 'texts', 'map'],
  6: ['uid', 'string'],
});

/** The messages of kinds whose objects are never stored: a client sends an object, and the response adds the status. */
export const reviewMessages: Readonly<Record<string, Message>> = {
  'authentication.k8s.io/v1/TokenRequest': message({
    1: ['metadata', metadata],
    2: ['spec', tokenRequestSpec],
    3: ['status', tokenRequestStatus, 'shown'],
  }),
  'authentication.k8s.io/v1/SelfSubjectReview': message({
    1: ['metadata', metadata],
    2: ['status', message({ 1: ['userInfo', userInfo] }), 'shown'],
  }),
  'authentication.k8s.io/v1/TokenReview': review(
    { 1: ['token', 'string'], 2: ['audiences', 'string', 'list'] },
    tokenStatus,
  ),
  'authorization.k8s.io/v1/SelfSubjectAccessReview': review(attributes),
  'authorization.k8s.io/v1/SubjectAccessReview': subjectReview,
  'authorization.k8s.io/v1/LocalSubjectAccessReview': subjectReview,
  'authorization.k8s.io/v1/SelfSubjectRulesReview': review({ 1: ['namespace', 'string'] }, rulesStatus),
};
