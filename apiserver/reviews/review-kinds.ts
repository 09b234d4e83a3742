import { defineModel } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';

const text = { type: 'string' } as const;
const texts = { type: 'array', items: text } as const;
const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;

const attributes = {
  resourceAttributes: {
    type: 'object',
    properties: {
      namespace: text,
      verb: text,
      group: text,
      version: text,
      resource: text,
      subresource: text,
      name: text,
      fieldSelector: anything,
      labelSelector: anything,
    },
  },
  nonResourceAttributes: { type: 'object', properties: { path: text, verb: text } },
} as const;

const subject = {
  user: text,
  groups: texts,
  uid: text,
  extra: { type: 'object', additionalProperties: texts },
} as const;

interface Review {
  readonly group: string;
  readonly kind: string;
  readonly spec: Readonly<Record<string, object>>;
  readonly scope?: ModelDescriptor['scope'];
}

function reviewKind({ group, kind, spec, scope = 'Cluster' }: Review): ModelDescriptor {
  const properties = { spec: { type: 'object', properties: spec }, status: anything };
  const plural = `${kind.toLowerCase()}s`;
  return defineModel({ group, version: 'v1', kind, plural, scope, schema: { type: 'object', properties } });
}

const authentication = 'authentication.k8s.io';
const authorization = 'authorization.k8s.io';

export const selfSubjectReview: ModelDescriptor = reviewKind({
  group: authentication,
  kind: 'SelfSubjectReview',
  spec: {},
});

export const tokenReview: ModelDescriptor = reviewKind({
  group: authentication,
  kind: 'TokenReview',
  spec: { token: text, audiences: texts },
});

export const selfSubjectAccessReview: ModelDescriptor = reviewKind({
  group: authorization,
  kind: 'SelfSubjectAccessReview',
  spec: attributes,
});

export const subjectAccessReview: ModelDescriptor = reviewKind({
  group: authorization,
  kind: 'SubjectAccessReview',
  spec: { ...attributes, ...subject },
});

export const localSubjectAccessReview: ModelDescriptor = reviewKind({
  group: authorization,
  kind: 'LocalSubjectAccessReview',
  spec: { ...attributes, ...subject },
  scope: 'Namespaced',
});

export const selfSubjectRulesReview: ModelDescriptor = reviewKind({
  group: authorization,
  kind: 'SelfSubjectRulesReview',
  spec: { namespace: text },
});

/**
 * The kinds of reviews. A client asks a question by creating an object of such a kind. Nothing is stored. The status of
 * the object in the response contains the answer.
 */
export const reviewKinds: readonly ModelDescriptor[] = [
  selfSubjectReview,
  tokenReview,
  selfSubjectAccessReview,
  subjectAccessReview,
  localSubjectAccessReview,
  selfSubjectRulesReview,
];

/** Returns true for kinds of reviews, whose objects can only be created. */
export function isReview(model: ModelDescriptor): boolean {
  return reviewKinds.includes(model);
}
