import type { OpenApiSchema } from './open-api.ts';
import { schemaReference } from './open-api.ts';

/**
 * The names of the schemas that all kinds share. No kind's schema has one of these names: the name of a kind's schema
 * begins with the kind's group, its parts in reverse order, and no kind has the group `meta` or `autoscaling`.
 */
export const meta = {
  objectMeta: 'meta.v1.ObjectMeta',
  ownerReference: 'meta.v1.OwnerReference',
  listMeta: 'meta.v1.ListMeta',
  deleteOptions: 'meta.v1.DeleteOptions',
  jsonPatch: 'meta.v1.JsonPatch',
  status: 'meta.v1.Status',
  problem: 'meta.v1.Problem',
  watchEvent: 'meta.v1.WatchEvent',
  scale: 'autoscaling.v1.Scale',
} as const;

const text: OpenApiSchema = { type: 'string' };
const texts: OpenApiSchema = { type: 'object', additionalProperties: text };
const free: OpenApiSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const objectMeta: OpenApiSchema = {
  type: 'object',
  description: 'Metadata of a stored object.',
  // Tools generate example bodies from this example. It leaves out the fields that the server sets. One of them,
  // resourceVersion, would make a creation fail.
  example: { name: 'example' },
  properties: {
    name: {
      ...text,
      maxLength: 253,
      description:
        'Unique within the kind and the namespace, if any. Lowercase letters, digits and hyphens, alphanumeric at ' +
        'both ends; some kinds allow more characters. Immutable.',
    },
    generateName: { ...text, description: 'Prefix of a generated name, used at creation when name is absent.' },
    namespace: { ...text, description: 'Only for kinds of scope Namespaced.' },
    uid: {
      ...text,
      readOnly: true,
      description: 'Random UUID. An object that is deleted and created again gets another UID.',
    },
    version: {
      type: 'integer',
      description:
        'Counter for optimistic locking: 1 at creation, and 1 more after each write that changes the object. If an ' +
        'update contains it, it must be the stored value.',
    },
    resourceVersion: {
      ...text,
      description:
        'Revision of the last change. If an update contains it, it must be the stored value. A creation must not ' +
        'contain it.',
    },
    generation: {
      type: 'integer',
      readOnly: true,
      description: 'Increases with each change outside of metadata and status, and when the deletion begins.',
    },
    creationTimestamp: { ...text, format: 'date-time', readOnly: true },
    deletionTimestamp: {
      ...text,
      format: 'date-time',
      readOnly: true,
      description: 'Set when a deletion is requested. The object can be read until its last finalizer is removed.',
    },
    deletionGracePeriodSeconds: { type: 'integer', readOnly: true },
    finalizers: {
      type: 'array',
      items: text,
      description: 'Names of the tasks that must be done before the object is removed. The list is a set.',
    },
    labels: { ...texts, description: 'Keys and values by which objects are selected.' },
    annotations: { ...texts, description: 'Free-form information, at most 256 KiB in all.' },
    ownerReferences: { type: 'array', items: schemaReference(meta.ownerReference) },
    managedFields: { type: 'array', items: free },
  },
};

const ownerReference: OpenApiSchema = {
  type: 'object',
  description: 'An owner of the object. When all its owners are deleted, the object is deleted.',
  required: ['apiVersion', 'kind', 'name', 'uid'],
  properties: {
    apiVersion: text,
    kind: text,
    name: text,
    uid: text,
    controller: { type: 'boolean', description: 'True on the one owner that manages the object.' },
    blockOwnerDeletion: { type: 'boolean' },
  },
};

const listMeta: OpenApiSchema = {
  type: 'object',
  required: ['resourceVersion'],
  properties: {
    resourceVersion: { ...text, description: 'Revision of the list: a watch from it receives all later changes.' },
    continue: { ...text, description: 'Token with which a client requests the next chunk; absent in the last chunk.' },
    remainingItemCount: { type: 'integer', minimum: 0 },
  },
};

const deleteOptions: OpenApiSchema = {
  type: 'object',
  properties: {
    apiVersion: text,
    kind: { ...text, enum: ['DeleteOptions'] },
    dryRun: { type: 'array', items: { ...text, enum: ['All'] } },
    propagationPolicy: { ...text, enum: ['Foreground', 'Background', 'Orphan'] },
    orphanDependents: { type: 'boolean', deprecated: true },
    preconditions: { type: 'object', properties: { uid: text, resourceVersion: text } },
  },
};

const jsonPatch: OpenApiSchema = {
  type: 'array',
  description: 'RFC 6902.',
  maxItems: 10_000,
  items: {
    type: 'object',
    required: ['op', 'path'],
    properties: {
      op: { ...text, enum: ['add', 'remove', 'replace', 'move', 'copy', 'test'] },
      path: { ...text, description: 'JSON pointer (RFC 6901).' },
      from: text,
      value: { description: 'Any JSON value.' },
    },
  },
};

const cause: OpenApiSchema = {
  type: 'object',
  properties: {
    reason: text,
    message: text,
    field: { ...text, description: 'Path of the field, such as spec.tags[1].' },
  },
};

const status: OpenApiSchema = {
  type: 'object',
  description: 'The response to a failed request, and to a deletion that removed the object.',
  required: ['apiVersion', 'kind', 'metadata', 'status'],
  properties: {
    apiVersion: { ...text, enum: ['v1'] },
    kind: { ...text, enum: ['Status'] },
    metadata: free,
    status: { ...text, enum: ['Success', 'Failure'] },
    message: text,
    reason: { ...text, description: 'For machines: NotFound, Conflict, Invalid and so on.' },
    details: {
      type: 'object',
      properties: {
        name: text,
        group: text,
        kind: text,
        uid: text,
        causes: { type: 'array', items: cause },
        retryAfterSeconds: { type: 'integer' },
      },
    },
    code: { type: 'integer', description: 'The status code of the response.' },
  },
};

const problem: OpenApiSchema = {
  type: 'object',
  description: 'The response to a failed request, in the form of RFC 9457.',
  properties: {
    type: text,
    title: text,
    status: { type: 'integer' },
    detail: text,
    instance: text,
    reason: text,
    causes: { type: 'array', items: cause },
  },
};

const watchEvent: OpenApiSchema = {
  type: 'object',
  description: 'One line of a watch.',
  required: ['type', 'object'],
  properties: {
    type: { ...text, enum: ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR'] },
    object: {
      ...free,
      description: 'The object. In a BOOKMARK, only metadata.resourceVersion counts; in an ERROR, it is a Status.',
    },
  },
};

const replicas: OpenApiSchema = { type: 'integer', format: 'int32', minimum: 0 };

const scale: OpenApiSchema = {
  type: 'object',
  description: 'The desired and the current number of replicas of an object.',
  required: ['apiVersion', 'kind', 'metadata'],
  properties: {
    apiVersion: { ...text, enum: ['autoscaling/v1'] },
    kind: { ...text, enum: ['Scale'] },
    metadata: schemaReference(meta.objectMeta),
    spec: { type: 'object', properties: { replicas: { ...replicas, description: 'The desired number.' } } },
    status: {
      type: 'object',
      readOnly: true,
      required: ['replicas'],
      properties: {
        replicas: { ...replicas, description: 'The current number.' },
        selector: { ...text, description: 'Selects the counted objects by labels.' },
      },
    },
  },
  'x-kubernetes-group-version-kind': [{ group: 'autoscaling', version: 'v1', kind: 'Scale' }],
};

/** The schemas that all kinds share, by name. */
export const metaSchemas: Readonly<Record<string, OpenApiSchema>> = {
  [meta.deleteOptions]: deleteOptions,
  [meta.jsonPatch]: jsonPatch,
  [meta.listMeta]: listMeta,
  [meta.objectMeta]: objectMeta,
  [meta.ownerReference]: ownerReference,
  [meta.problem]: problem,
  [meta.scale]: scale,
  [meta.status]: status,
  [meta.watchEvent]: watchEvent,
};
