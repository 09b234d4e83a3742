/**
 * One owner of an object; when none of an object's owners is left, the collector deletes it (Kubernetes
 * `OwnerReference`).
 */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  /** True for the one owner that manages the object: a change of the object causes a run for this owner. */
  readonly controller?: boolean;
  /** True when an owner that is deleted in the foreground stays until this object is deleted. */
  readonly blockOwnerDeletion?: boolean;
}

/** The fields of an object that one manager owns (Kubernetes `ManagedFieldsEntry`). */
export interface ManagedFieldsEntry {
  readonly manager: string;
  /** `Apply`: server-side apply; `Update`: every other write. */
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  /**
   * The time (RFC 3339, UTC) at which the manager last changed something. Absent when the manager has only applied
   * values that the object already had.
   */
  readonly time?: string;
  readonly fieldsType: 'FieldsV1';
  /**
   * The owned fields, as a tree of path elements (`f:<field>`, `k:<keys of an item>`, `v:<value of an item>`, `.` for
   * the node itself).
   */
  readonly fieldsV1: object;
  readonly subresource?: string;
}

/**
 * Metadata of a stored object (spec 2.3). The server sets some of the fields; values that a client sends for them are
 * replaced.
 */
export interface ObjectMeta {
  /** The name: at most 253 characters of lowercase letters, digits and hyphen (spec 2.4). Immutable. */
  readonly name: string;
  /** Prefix of a generated name, used at creation when `name` is absent. */
  readonly generateName?: string;
  readonly namespace?: string;
  /** Set by the server: a random UUID. An object that is deleted and created again has another one. */
  readonly uid: string;
  /**
   * A number for optimistic locking: 1 at creation, increased by 1 by each write that changes something. If an update
   * sends it, it must match that of the stored object (otherwise 409).
   */
  readonly version: number;
  /**
   * The revision of the last change, which counts all changes in the database, as a decimal string. If an update sends
   * it, it must match that of the stored object (otherwise 409).
   */
  readonly resourceVersion: string;
  /** Set by the server: 1 at creation, increased by 1 when anything outside of metadata and status changes. */
  readonly generation: number;
  /** Set by the server: the time of the creation in UTC (RFC 3339), in whole seconds. */
  readonly creationTimestamp: string;
  /**
   * Set by the server, once: the time at which a client deleted the object while it had finalizers. The object can be
   * read until its last finalizer is removed.
   */
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly finalizers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  /**
   * Set by the server: the managers and the fields that they own, for server-side apply. An update may change it;
   * `[{}]` removes all entries.
   */
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

/** An object as an author writes it. The model gives it apiVersion and kind; the server sets its own fields. */
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

/** Parses a text of {@link formatKey}; it is unambiguous, because names contain no slash. */
export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf('/');
  return slash < 0 ? { name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

/** The key of an object. */
export function keyOf(object: ApiObject): ObjectKey {
  const { namespace, name } = object.metadata;
  return namespace === undefined ? { name } : { namespace, name };
}
