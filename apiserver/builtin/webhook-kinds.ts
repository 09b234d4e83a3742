import { defineModel } from '@homeostat/controller-runtime/api';
import type { JsonSchema, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { checkWebhooks } from './check-webhooks.ts';

/** The API group of webhooks and policies. No webhook is called for objects of this group. */
export const admissionGroup = 'admissionregistration.k8s.io';

const text = { type: 'string' } as const;
const texts = { type: 'array', items: text, 'x-kubernetes-list-type': 'atomic' } as const;

/** The schema of a label selector, which selects everything by default. */
export const selector: JsonSchema = {
  type: 'object',
  default: {},
  'x-kubernetes-map-type': 'atomic',
  properties: {
    matchLabels: { type: 'object', additionalProperties: text, nullable: true },
    matchExpressions: {
      type: 'array',
      nullable: true,
      'x-kubernetes-list-type': 'atomic',
      items: {
        type: 'object',
        required: ['key', 'operator'],
        properties: { key: text, operator: text, values: { ...texts, nullable: true } },
      },
    },
  },
};

/** The fields of a rule of a webhook or a policy. */
export const ruleFields: Readonly<Record<string, JsonSchema>> = {
  operations: { ...texts, description: 'CREATE, UPDATE, DELETE and CONNECT; * is each of them.' },
  apiGroups: { ...texts, description: 'The groups of the resources; the empty text is the core group.' },
  apiVersions: { ...texts, description: 'The versions of the resources.' },
  resources: {
    ...texts,
    description: 'Plurals, such as persons, and subresources, such as persons/status or */scale.',
  },
  scope: { ...text, default: '*', description: 'Cluster, Namespaced, or * for both.' },
};

/** The fields that say how a webhook is called, for admission or for conversions. */
export const clientConfigFields: Readonly<Record<string, JsonSchema>> = {
  url: { ...text, description: 'The address, https://host[:port]/path. A configuration has either url or service.' },
  service: {
    type: 'object',
    description: 'A service, which the option --service-map of the server maps to an address.',
    required: ['name', 'namespace'],
    properties: { name: text, namespace: text, path: text, port: { type: 'integer', format: 'int32', default: 443 } },
  },
  caBundle: {
    type: 'string',
    // The format `byte` refuses an empty text. Here, an empty text is allowed, because some tools first send an empty
    // bundle, and fill it in later.
    anyOf: [{ format: 'byte' }, { maxLength: 0 }],
    description: 'The CA certificates that verify the certificate of the webhook: PEM in base64.',
  },
};

/** The schema of the field `matchConditions`, which webhooks and policies have: a list of expressions in CEL. */
export const matchConditions: JsonSchema = {
  type: 'array',
  description: 'Conditions in CEL. If one is false, the webhook is not called, or the policy does not apply.',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
  items: { type: 'object', required: ['name', 'expression'], properties: { name: text, expression: text } },
};

const webhookFields: Readonly<Record<string, JsonSchema>> = {
  name: { ...text, description: 'A domain with three parts at least, such as persons.people.example.com.' },
  clientConfig: { type: 'object', properties: clientConfigFields },
  rules: {
    type: 'array',
    'x-kubernetes-list-type': 'atomic',
    description: 'The writes that are sent to the webhook.',
    items: { type: 'object', properties: ruleFields },
  },
  failurePolicy: { ...text, default: 'Fail', description: 'Fail or Ignore: the effect of a call that fails.' },
  matchPolicy: { ...text, default: 'Equivalent', description: 'Exact or Equivalent.' },
  namespaceSelector: { ...selector, description: 'Selects the namespaces of the objects that are sent. Default: all.' },
  objectSelector: { ...selector, description: 'Selects, by their labels, the objects that are sent. Default: all.' },
  sideEffects: { ...text, description: 'None or NoneOnDryRun.' },
  timeoutSeconds: { type: 'integer', format: 'int32', default: 10, description: 'From 1 to 30.' },
  admissionReviewVersions: {
    ...texts,
    description: 'The versions of AdmissionReview that the webhook understands, among them v1 or v1beta1.',
  },
  matchConditions,
};

const reinvocationPolicy: JsonSchema = {
  ...text,
  default: 'Never',
  description: 'With IfNeeded, the webhook is called once more when a later webhook changes the object.',
};

function listOf(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return {
    type: 'object',
    properties: {
      webhooks: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
        items: {
          type: 'object',
          required: ['name', 'clientConfig', 'sideEffects', 'admissionReviewVersions'],
          properties,
        },
      },
    },
  };
}

/** `admissionregistration.k8s.io/v1 MutatingWebhookConfiguration`: webhooks that may change written objects. */
export const mutatingWebhookKind: ModelDescriptor = defineModel({
  gvk: `${admissionGroup}/v1/MutatingWebhookConfiguration`,
  plural: 'mutatingwebhookconfigurations',
  nameFormat: 'subdomain',
  categories: ['api-extensions'],
  schema: listOf({ ...webhookFields, reinvocationPolicy }),
  validate: checkWebhooks,
});

/** `admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration`: webhooks that may refuse writes. */
export const validatingWebhookKind: ModelDescriptor = defineModel({
  gvk: `${admissionGroup}/v1/ValidatingWebhookConfiguration`,
  plural: 'validatingwebhookconfigurations',
  nameFormat: 'subdomain',
  categories: ['api-extensions'],
  schema: listOf(webhookFields),
  validate: checkWebhooks,
});
