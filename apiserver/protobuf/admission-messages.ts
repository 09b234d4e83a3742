import type { Message } from './message.ts';
import { labelSelector, message, metadata } from './metadata-message.ts';
import type { MessageFields } from './metadata-message.ts';

/** The address of a webhook: a service or a URL. */
export const clientConfig: Message = message({
  1: [
    'service',
    message({
      1: ['namespace', 'string'],
      2: ['name', 'string'],
      3: ['path', 'string', 'optional'],
      4: ['port', 'integer', 'optional'],
    }),
  ],
  2: ['caBundle', 'bytes'],
  3: ['url', 'string', 'optional'],
});

const ruleWithOperations = message({
  1: ['operations', 'string', 'list'],
  2: [
    '',
    message({
      1: ['apiGroups', 'string', 'list'],
      2: ['apiVersions', 'string', 'list'],
      3: ['resources', 'string', 'list'],
      4: ['scope', 'string', 'optional'],
    }),
    'inline',
  ],
});

const matchCondition = message({ 1: ['name', 'string'], 2: ['expression', 'string'] });

/** Returns the message of a webhook. Mutating and validating webhooks have different numbers for some fields. */
function webhooks(rest: MessageFields): Message {
  return message({
    1: ['name', 'string'],
    2: ['clientConfig', clientConfig],
    3: ['rules', ruleWithOperations, 'list'],
    4: ['failurePolicy', 'string', 'optional'],
    5: ['namespaceSelector', labelSelector],
    6: ['sideEffects', 'string', 'optional'],
    7: ['timeoutSeconds', 'integer', 'optional'],
    8: ['admissionReviewVersions', 'string', 'list'],
    9: ['matchPolicy', 'string', 'optional'],
    ...rest,
  });
}

const mutatingWebhook = webhooks({
  10: ['reinvocationPolicy', 'string', 'optional'],
  11: ['objectSelector', labelSelector],
  12: ['matchConditions', matchCondition, 'list'],
});

const validatingWebhook = webhooks({
  10: ['objectSelector', labelSelector],
  11: ['matchConditions', matchCondition, 'list'],
});

const ruleOfNames = message({ 1: ['resourceNames', 'string', 'list'], 2: ['', ruleWithOperations, 'inline'] });

const matchResources = message({
  1: ['namespaceSelector', labelSelector],
  2: ['objectSelector', labelSelector],
  3: ['resourceRules', ruleOfNames, 'list'],
  4: ['excludeResourceRules', ruleOfNames, 'list'],
  7: ['matchPolicy', 'string', 'optional'],
});

const validation = message({
  1: ['expression', 'string'],
  2: ['message', 'string'],
  3: ['reason', 'string', 'optional'],
  4: ['messageExpression', 'string'],
});

const policySpec = message({
  1: ['paramKind', message({ 1: ['apiVersion', 'string'], 2: ['kind', 'string'] })],
  2: ['matchConstraints', matchResources],
  3: ['validations', validation, 'list'],
  4: ['failurePolicy', 'string', 'optional'],
  5: ['auditAnnotations', message({ 1: ['key', 'string'], 2: ['valueExpression', 'string'] }), 'list'],
  6: ['matchConditions', matchCondition, 'list'],
  7: ['variables', matchCondition, 'list'],
});

const condition = message({
  1: ['type', 'string'],
  2: ['status', 'string'],
  3: ['observedGeneration', 'integer'],
  4: ['lastTransitionTime', 'time'],
  5: ['reason', 'string'],
  6: ['message', 'string'],
});

const policyStatus = message({
  1: ['observedGeneration', 'integer'],
  2: [
    'typeChecking',
    message({ 1: ['expressionWarnings', message({ 2: ['fieldRef', 'string'], 3: ['warning', 'string'] }), 'list'] }),
  ],
  3: ['conditions', condition, 'list'],
});

const paramRef = message({
  1: ['name', 'string'],
  2: ['namespace', 'string'],
  3: ['selector', labelSelector],
  4: ['parameterNotFoundAction', 'string', 'optional'],
});

const bindingSpec = message({
  1: ['policyName', 'string'],
  2: ['paramRef', paramRef],
  3: ['matchResources', matchResources],
  4: ['validationActions', 'string', 'list'],
});

const group = 'admissionregistration.k8s.io/v1';

/** The messages of webhooks and policies, by apiVersion and kind. */
export const admissionMessages: Readonly<Record<string, Message>> = {
  [`${group}/MutatingWebhookConfiguration`]: message({
    1: ['metadata', metadata],
    2: ['webhooks', mutatingWebhook, 'list'],
  }),
  [`${group}/ValidatingWebhookConfiguration`]: message({
    1: ['metadata', metadata],
    2: ['webhooks', validatingWebhook, 'list'],
  }),
  [`${group}/ValidatingAdmissionPolicy`]: message({
    1: ['metadata', metadata],
    2: ['spec', policySpec],
    3: ['status', policyStatus],
  }),
  [`${group}/ValidatingAdmissionPolicyBinding`]: message({ 1: ['metadata', metadata], 2: ['spec', bindingSpec] }),
};
