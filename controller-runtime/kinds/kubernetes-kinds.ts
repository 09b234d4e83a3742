import { defineModel } from '../api/index.ts';
import type { ModelDescriptor, NamespacedObject, ApiObject } from '../api/index.ts';

// Models of the Kubernetes kinds that every server has, for clients: names and types of fields. Rules, indexes and
// columns are in the server.

const text = { type: 'string' } as const;
const count = { type: 'integer', minimum: 0 } as const;
const time = { type: 'string', format: 'date-time', nullable: true } as const;
const flag = { type: 'boolean' } as const;
const values = { type: 'object', nullable: true, additionalProperties: text } as const;

const reference = {
  type: 'object',
  properties: {
    apiVersion: text,
    kind: text,
    namespace: text,
    name: text,
    uid: text,
    resourceVersion: text,
    fieldPath: text,
  },
} as const;

/** A reference to any object; all of its fields may be absent. */
export interface ObjectReference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly fieldPath?: string;
}

const configMap = {
  type: 'object',
  properties: { data: values, binaryData: values, immutable: { ...flag, nullable: true } },
} as const;

/** `v1 ConfigMap`: configuration that other objects or programs read. The values of `binaryData` are base64. */
export interface ConfigMap extends NamespacedObject {
  readonly data?: Readonly<Record<string, string>> | null;
  readonly binaryData?: Readonly<Record<string, string>> | null;
  /** True to make the values immutable. */
  readonly immutable?: boolean | null;
}

export const ConfigMap: ModelDescriptor<ConfigMap> = defineModel({
  gvk: 'v1/ConfigMap',
  plural: 'configmaps',
  shortNames: ['cm'],
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  schema: configMap,
});

const secret = {
  type: 'object',
  properties: { data: values, stringData: values, type: text, immutable: { ...flag, nullable: true } },
} as const;

/**
 * `v1 Secret`: passwords, tokens and keys. The values of `data` are base64. The server moves the values of `stringData`
 * to `data`, so no response contains `stringData`. For this reason, a wish with `stringData` is sent again in each run;
 * use `data` in wishes.
 */
export interface Secret extends NamespacedObject {
  readonly data?: Readonly<Record<string, string>> | null;
  readonly stringData?: Readonly<Record<string, string>> | null;
  /** The purpose of the values; it cannot be changed. Default `Opaque`. */
  readonly type?: string;
  /** True to make the values immutable. */
  readonly immutable?: boolean | null;
}

export const Secret: ModelDescriptor<Secret> = defineModel({
  gvk: 'v1/Secret',
  plural: 'secrets',
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  schema: secret,
});

const serviceAccount = {
  type: 'object',
  properties: {
    secrets: { type: 'array', items: reference },
    imagePullSecrets: { type: 'array', items: { type: 'object', properties: { name: text } } },
    automountServiceAccountToken: flag,
  },
} as const;

/** `v1 ServiceAccount`: the identity of a program. */
export interface ServiceAccount extends NamespacedObject {
  readonly secrets?: readonly ObjectReference[];
  readonly imagePullSecrets?: readonly { readonly name?: string }[];
  readonly automountServiceAccountToken?: boolean;
}

export const ServiceAccount: ModelDescriptor<ServiceAccount> = defineModel({
  gvk: 'v1/ServiceAccount',
  plural: 'serviceaccounts',
  shortNames: ['sa'],
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  schema: serviceAccount,
});

const namespace = {
  type: 'object',
  properties: {
    spec: { type: 'object', properties: { finalizers: { type: 'array', items: text } } },
    status: {
      type: 'object',
      properties: {
        phase: { type: 'string', enum: ['Active', 'Terminating'] },
        conditions: {
          type: 'array',
          items: {
            type: 'object',
            required: ['type', 'status'],
            properties: { type: text, status: text, lastTransitionTime: time, reason: text, message: text },
          },
        },
      },
    },
  },
} as const;

/** `v1 Namespace`: a named group of objects. Each object of a Namespaced kind is in a namespace. */
export interface Namespace extends ApiObject {
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly status?: {
    readonly phase?: 'Active' | 'Terminating';
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly lastTransitionTime?: string | null;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
}

export const Namespace: ModelDescriptor<Namespace> = defineModel({
  gvk: 'v1/Namespace',
  plural: 'namespaces',
  shortNames: ['ns'],
  subresources: ['status'],
  schema: namespace,
});

const event = {
  type: 'object',
  required: ['involvedObject'],
  properties: {
    involvedObject: reference,
    related: { ...reference, nullable: true },
    type: text,
    reason: text,
    message: text,
    action: text,
    count,
    firstTimestamp: time,
    lastTimestamp: time,
    eventTime: time,
    series: { type: 'object', nullable: true, properties: { count, lastObservedTime: time } },
    source: { type: 'object', properties: { component: text, host: text } },
    reportingComponent: text,
    reportingInstance: text,
  },
} as const;

/**
 * `v1 Event`: a report for people of something that happened to an object. A `reconcile` function records events with
 * the function `event` of its context.
 */
export interface Event extends NamespacedObject {
  readonly involvedObject: ObjectReference;
  readonly related?: ObjectReference | null;
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly action?: string;
  readonly count?: number;
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string | null } | null;
  readonly source?: { readonly component?: string; readonly host?: string };
  readonly reportingComponent?: string;
  readonly reportingInstance?: string;
}

export const Event: ModelDescriptor<Event> = defineModel({
  gvk: 'v1/Event',
  plural: 'events',
  shortNames: ['ev'],
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  schema: event,
});

const lease = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        holderIdentity: text,
        leaseDurationSeconds: { type: 'integer', minimum: 1 },
        acquireTime: time,
        renewTime: time,
        leaseTransitions: count,
        strategy: text,
        preferredHolder: text,
      },
    },
  },
} as const;

/**
 * `coordination.k8s.io/v1 Lease`: the process that holds it is the leader. A lease without a `holderIdentity` is free.
 */
export interface Lease extends NamespacedObject {
  readonly spec?: LeaseSpec;
}

/** The state of a lease. Its times have six decimals of the seconds, which clients in Go require. */
export interface LeaseSpec {
  /** The identity of the holder; empty or absent when the lease has no holder. */
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string | null;
  readonly renewTime?: string | null;
  readonly leaseTransitions?: number;
  readonly strategy?: string;
  readonly preferredHolder?: string;
}

export const Lease: ModelDescriptor<Lease> = defineModel({
  gvk: 'coordination.k8s.io/v1/Lease',
  plural: 'leases',
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  schema: lease,
});
