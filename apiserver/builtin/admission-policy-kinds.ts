import { defineModel } from '@homeostat/controller-runtime/api';
import type { JsonSchema, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { checkPolicyBinding } from './check-policies.ts';
import { admissionGroup, matchConditions, ruleFields, selector } from './webhook-kinds.ts';

const text = { type: 'string' } as const;
const texts = { type: 'array', items: text, 'x-kubernetes-list-type': 'atomic' } as const;

function list(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[], key?: string): JsonSchema {
  const identity =
    key === undefined
      ? ({ 'x-kubernetes-list-type': 'atomic' } as const)
      : ({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] } as const);
  return { type: 'array', items: { type: 'object', required: [...required], properties }, ...identity };
}

const rules = list(
  { ...ruleFields, resourceNames: { ...texts, description: 'The names of the matched objects. Default: all.' } },
  [],
);

const matchResources: JsonSchema = {
  type: 'object',
  'x-kubernetes-map-type': 'atomic',
  properties: {
    resourceRules: { ...rules, description: 'The writes that are matched.' },
    excludeResourceRules: { ...rules, description: 'Exceptions: writes that are not matched.' },
    matchPolicy: { ...text, default: 'Equivalent', description: 'Exact or Equivalent.' },
    namespaceSelector: { ...selector, description: 'Selects the namespaces of the matched objects. Default: all.' },
    objectSelector: { ...selector, description: 'Selects the matched objects by their labels. Default: all.' },
  },
};

const policySpec: JsonSchema = {
  type: 'object',
  properties: {
    paramKind: {
      type: 'object',
      description: 'The kind of the objects that expressions read as params.',
      'x-kubernetes-map-type': 'atomic',
      required: ['apiVersion', 'kind'],
      properties: { apiVersion: text, kind: text },
    },
    matchConstraints: matchResources,
    matchConditions,
    variables: {
      ...list({ name: text, expression: text }, ['name', 'expression'], 'name'),
      description: 'Expressions that other expressions read as variables.<name>.',
    },
    validations: {
      ...list({ expression: text, message: text, messageExpression: text, reason: text }, ['expression']),
      description: 'Expressions in CEL that must be true.',
    },
    auditAnnotations: list({ key: text, valueExpression: text }, ['key', 'valueExpression']),
    failurePolicy: {
      ...text,
      default: 'Fail',
      description: 'Fail or Ignore: the effect of an expression that has an error.',
    },
  },
};

const policyStatus: JsonSchema = {
  type: 'object',
  properties: {
    observedGeneration: { type: 'integer' },
    typeChecking: {
      type: 'object',
      properties: { expressionWarnings: list({ fieldRef: text, warning: text }, ['fieldRef', 'warning']) },
    },
    conditions: list(
      {
        type: text,
        status: text,
        reason: text,
        message: text,
        observedGeneration: { type: 'integer' },
        lastTransitionTime: { type: 'string', format: 'date-time' },
      },
      ['type', 'status'],
      'type',
    ),
  },
};

const paramRef: JsonSchema = {
  type: 'object',
  description: 'The objects that expressions read as params.',
  'x-kubernetes-map-type': 'atomic',
  properties: {
    name: text,
    namespace: text,
    selector: { ...selector, default: undefined },
    parameterNotFoundAction: {
      ...text,
      description:
        'If no object has the name or matches the selector: Allow lets the write pass, Deny applies the failurePolicy.',
    },
  },
};

/** `admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy`: conditions in CEL that writes must meet. */
export const admissionPolicyKind: ModelDescriptor = defineModel({
  gvk: `${admissionGroup}/v1/ValidatingAdmissionPolicy`,
  plural: 'validatingadmissionpolicies',
  nameFormat: 'subdomain',
  subresources: ['status'],
  schema: { type: 'object', required: ['spec'], properties: { spec: policySpec, status: policyStatus } },
});

/** `admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding`: puts a policy into effect. */
export const admissionPolicyBindingKind: ModelDescriptor = defineModel({
  gvk: `${admissionGroup}/v1/ValidatingAdmissionPolicyBinding`,
  plural: 'validatingadmissionpolicybindings',
  nameFormat: 'subdomain',
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        properties: {
          policyName: { ...text, default: '' },
          paramRef,
          matchResources,
          validationActions: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
        },
      },
    },
  },
  validate: checkPolicyBinding,
});
