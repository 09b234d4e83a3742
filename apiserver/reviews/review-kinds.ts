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
  readonly gvk: `${string}/${string}`;
  readonly spec: Readonly<Record<string, object>>;
  readonly scope?: ModelDescriptor['scope'];
}

function reviewKind({ gvk, spec, scope = 'Cluster' }: Review): ModelDescriptor {
  const kind = gvk.slice(gvk.lastIndexOf('/') + 1);
  const properties = { spec: { type: 'object', properties: spec }, status: anything };
  return defineModel({ gvk, plural: `${kind.toLowerCase()}s`, scope, schema: { type: 'object', properties } });
}

const authentication = 'authentication.k8s.io/v1';
const authorization = 'authorization.k8s.io/v1';

export const selfSubjectReview: ModelDescriptor = reviewKind({ gvk: `${authentication}/SelfSubjectReview`, spec: {} });

export const tokenReview: ModelDescriptor = reviewKind({
  gvk: `${authentication}/TokenReview`,
  spec: { token: text, audiences: texts },
});

export const selfSubjectAccessReview: ModelDescriptor = reviewKind({
  gvk: `${authorization}/SelfSubjectAccessReview`,
  spec: attributes,
});

export const subjectAccessReview: ModelDescriptor = reviewKind({
  gvk: `${authorization}/SubjectAccessReview`,
  spec: { ...attributes, ...subject },
});

export const localSubjectAccessReview: ModelDescriptor = reviewKind({
  gvk: `${authorization}/LocalSubjectAccessReview`,
  spec: { ...attributes, ...subject },
  scope: 'Namespaced',
});

export const selfSubjectRulesReview: ModelDescriptor = reviewKind({
  gvk: `${authorization}/SelfSubjectRulesReview`,
  spec: { namespace: text },
});

/**
 * Kinds with which a client asks a question by creating an object: nothing is stored, and the status of the response is
 * the answer.
 */
export const reviewKinds: readonly ModelDescriptor[] = [
  selfSubjectReview,
  tokenReview,
  selfSubjectAccessReview,
  subjectAccessReview,
  localSubjectAccessReview,
  selfSubjectRulesReview,
];

/** True for kinds whose objects can only be created. */
export function isReview(model: ModelDescriptor): boolean {
  return reviewKinds.includes(model);
}
