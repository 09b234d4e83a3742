import { defineModel } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';

const text = { type: 'string' } as const;

const reference = {
  type: 'object',
  properties: {
    kind: text,
    namespace: text,
    name: text,
    uid: text,
    apiVersion: text,
    resourceVersion: text,
    fieldPath: text,
  },
} as const;

/**
 * `v1 ServiceAccount`: the identity of a program. The program proves its identity by a token, which
 * `serviceaccounts/<name>/token` issues.
 */
export const serviceAccountKind: ModelDescriptor = defineModel({
  gvk: 'v1/ServiceAccount',
  plural: 'serviceaccounts',
  singular: 'serviceaccount',
  shortNames: ['sa'],
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  schema: {
    type: 'object',
    description: 'The identity of a program: user system:serviceaccount:<namespace>:<name>.',
    properties: {
      secrets: { type: 'array', items: reference, description: 'The secrets that programs with this account may use.' },
      imagePullSecrets: { type: 'array', items: { type: 'object', properties: { name: text } } },
      automountServiceAccountToken: { type: 'boolean' },
    },
  },
});

export function isServiceAccountKind({ group, kind }: Pick<ModelDescriptor, 'group' | 'kind'>): boolean {
  return group === serviceAccountKind.group && kind === serviceAccountKind.kind;
}

/** `authentication.k8s.io/v1 TokenRequest`: body and response of `serviceaccounts/<name>/token`. It is not stored. */
export const tokenRequestKind: ModelDescriptor = defineModel({
  gvk: 'authentication.k8s.io/v1/TokenRequest',
  plural: 'tokenrequests',
  scope: 'Namespaced',
  schema: {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {
          audiences: { type: 'array', items: text, maxItems: 32 },
          expirationSeconds: { type: 'integer', nullable: true },
          boundObjectRef: {
            type: 'object',
            nullable: true,
            properties: { kind: text, apiVersion: text, name: text, uid: text },
          },
        },
      },
      status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
  },
});
