import { checkDnsLabel, defineModel } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { liveIndex } from '../registry/kinds/live-claim.ts';

/** `v1 Namespace`, which contains objects of Namespaced kinds. */
export interface NamespaceObject extends ApiObject {
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly status?: { readonly phase?: 'Active' | 'Terminating' };
}

/**
 * The entry of the server in `spec.finalizers`. The server removes it when the namespace is being deleted and is empty.
 */
export const namespaceFinalizer = 'kubernetes';

/** The namespace that every server has. */
export const defaultNamespace = 'default';

const text = { type: 'string' } as const;

const condition = {
  type: 'object',
  required: ['type', 'status'],
  properties: {
    type: text,
    status: text,
    lastTransitionTime: { type: 'string', format: 'date-time', nullable: true },
    reason: text,
    message: text,
  },
} as const;

const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        finalizers: {
          type: 'array',
          items: text,
          description: 'The work that must be done before the namespace is removed.',
        },
      },
    },
    status: {
      type: 'object',
      properties: {
        phase: { type: 'string', enum: ['Active', 'Terminating'] },
        conditions: { type: 'array', items: condition },
      },
    },
  },
} as const;

/** The kind of namespaces. Their names are segments of DNS names, so they have at most 63 characters. */
export const namespaceKind: ModelDescriptor<NamespaceObject> = defineModel({
  gvk: 'v1/Namespace',
  plural: 'namespaces',
  singular: 'namespace',
  shortNames: ['ns'],
  subresources: ['status'],
  printerColumns: [
    { name: 'Status', type: 'string', jsonPath: '.status.phase', description: 'Active, or Terminating.' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  schema,
  indexes: ['status.phase', liveIndex],
  validate: ({ metadata }) =>
    checkDnsLabel(metadata.name).map((message) => ({
      field: 'metadata.name',
      message: `Invalid value: ${JSON.stringify(metadata.name)}: ${message}`,
    })),
});

export function isNamespaceKind({ group, kind }: ModelDescriptor): boolean {
  return group === namespaceKind.group && kind === namespaceKind.kind;
}
