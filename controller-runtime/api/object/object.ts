/**
 * One owner of an object; when none of an object's owners is left, the collector deletes it (Kubernetes
 * `OwnerReference`).
 */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  /** True on the one owner that manages the object: events of the object are events of this owner. */
  readonly controller?: boolean;
  /** When the owner is deleted in the foreground, it waits until this object is deleted. */
  readonly blockOwnerDeletion?: boolean;
}

/** The fields of an object that one manager owns (Kubernetes `ManagedFieldsEntry`). */
export interface ManagedFieldsEntry {
  readonly manager: string;
  /** `Apply`: server-side apply; `Update`: every other write. */
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  /**
   * RFC 3339, UTC: when the manager last changed something. Absent when it only applied values that were there already.
   */
  readonly time?: string;
  readonly fieldsType: 'FieldsV1';
  /** A tree of path elements (`f:<field>`, `k:<keys of an item>`, `v:<value of an item>`, `.` for the node itself). */
  readonly fieldsV1: object;
  readonly subresource?: string;
}

/**
 * Metadata of a stored object (spec 2.3). Fields marked "server" are set by the server; what a client sends for them is
 * replaced.
 */
export interface ObjectMeta {
  /** The name: at most 253 characters of lowercase letters, digits and hyphen (spec 2.4). Immutable. */
  readonly name: string;
  /** Prefix of a generated name, used at creation when `name` is absent. */
  readonly generateName?: string;
  readonly namespace?: string;
  /** Server: random UUID of this incarnation. */
  readonly uid: string;
  /** Optimistic lock: 1 at creation, + 1 per write that changes something. Sent in an update it must match (409). */
  readonly version: number;
  /** Decimal string: the database-wide revision of the last change. Sent in an update it must match (409). */
  readonly resourceVersion: string;
  /** Server: + 1 when anything outside metadata and status changes. */
  readonly generation: number;
  /** Server: RFC 3339, UTC, whole seconds. */
  readonly creationTimestamp: string;
  /** Server: set once, when the object is declared deleted; it stays readable until its last finalizer is gone. */
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly finalizers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  /** Server: who owns which fields, as server-side apply needs it. An update may edit it; `[{}]` clears it. */
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

/** The envelope that every object has (spec 2.2). */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

/** Metadata of an object of a Namespaced kind. */
export interface NamespacedObjectMeta extends ObjectMeta {
  readonly namespace: string;
}

/** The envelope of an object of a Namespaced kind. */
export interface NamespacedObject extends ApiObject {
  readonly metadata: NamespacedObjectMeta;
}

/** An object as an author writes it: apiVersion and kind come from the model, the server's fields from the server. */
export type NewObject<T extends ApiObject> = Omit<T, 'apiVersion' | 'kind' | 'metadata'> & {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: Partial<ObjectMeta>;
};

/** Name of an object within its kind. */
export interface ObjectKey {
  /** Absent for Cluster-scoped kinds. */
  readonly namespace?: string;
  readonly name: string;
}

/** `name`, or `namespace/name`: the form that maps, queues and logs use. */
export function formatKey(key: ObjectKey): string {
  return key.namespace === undefined ? key.name : `${key.namespace}/${key.name}`;
}

/** The inverse of {@link formatKey}; names hold no slash. */
export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf('/');
  return slash < 0 ? { name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

/** The key of an object. */
export function keyOf(object: ApiObject): ObjectKey {
  const { namespace, name } = object.metadata;
  return namespace === undefined ? { name } : { namespace, name };
}
