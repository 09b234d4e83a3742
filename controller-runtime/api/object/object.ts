/**
 * One owner of an object (Kubernetes `OwnerReference`). When all owners of an object are gone, the garbage collector
 * deletes the object.
 */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  /**
   * True for the owner that manages the object; at most one owner of an object may have this. When the object changes,
   * each controller of the owner's kind that declares `owns` for the object's kind reconciles this owner.
   */
  readonly controller?: boolean;
  /** If true, a deletion of the owner in the foreground does not remove the owner before this object is deleted. */
  readonly blockOwnerDeletion?: boolean;
}

/** The fields of an object that one field manager owns (Kubernetes `ManagedFieldsEntry`). */
export interface ManagedFieldsEntry {
  readonly manager: string;
  /** `Apply`: server-side apply; `Update`: every other write. */
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  /**
   * The time (RFC 3339, UTC) at which the field manager last changed the object. Absent when the field manager has only
   * applied values that the object already had.
   */
  readonly time?: string;
  readonly fieldsType: 'FieldsV1';
  /**
   * The fields that the field manager owns, as a tree of path elements (`f:<field>`, `k:<keys of an item>`, `v:<value
   * of an item>`, `.` for the node itself).
   */
  readonly fieldsV1: object;
  readonly subresource?: string;
}

/**
 * Metadata of a stored object (specification, section 2.3). The server sets some of the fields itself, and does not
 * store the values that a client sends for them, except managedFields.
 */
export interface ObjectMeta {
  /**
   * The name: at most 253 characters of lowercase letters, digits and hyphen (specification, section 2.4). A kind with
   * another `nameFormat` allows more characters. Immutable.
   */
  readonly name: string;
  /** Prefix of a generated name, used at creation when `name` is absent. */
  readonly generateName?: string;
  readonly namespace?: string;
  /** Set by the server: a random UUID. An object that is deleted and created again gets a new UUID. */
  readonly uid: string;
  /**
   * A number for optimistic locking: 1 at creation, increased by 1 by each write that changes the object. A version in
   * an update must equal the version of the stored object (otherwise 409).
   */
  readonly version: number;
  /**
   * The revision of the object's last change, as a decimal string. Each change in the database gets a larger revision
   * than all earlier ones. A resourceVersion in an update must equal that of the stored object (otherwise 409).
   */
  readonly resourceVersion: string;
  /**
   * Set by the server: 1 at creation, increased by 1 by each write that changes anything outside of metadata and
   * status, and when the deletion begins.
   */
  readonly generation: number;
  /** Set by the server: the time of the creation in UTC (RFC 3339), in whole seconds. */
  readonly creationTimestamp: string;
  /**
   * Set by the server, only once: the time of the first request to delete the object, if this request did not remove
   * the object. The object can be read until its last finalizer is removed.
   */
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly finalizers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  /**
   * Set by the server: the managers and the fields that they own, for server-side apply. An update may change the list;
   * `[{}]` removes all entries.
   */
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

/** The fields that every object has (specification, section 2.2): its envelope. */
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

/**
 * An object as an author writes it. An absent apiVersion or kind is taken from the model; the server sets its own
 * fields of metadata.
 */
export type NewObject<T extends ApiObject> = Omit<T, 'apiVersion' | 'kind' | 'metadata'> & {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: Partial<ObjectMeta>;
};

/** Name of an object within its kind. */
export interface ObjectKey {
  /** The namespace; absent for Cluster-scoped kinds. */
  readonly namespace?: string;
  readonly name: string;
}

/** Returns the key as a text, `name` or `namespace/name`, which maps, queues and logs use. */
export function formatKey(key: ObjectKey): string {
  return key.namespace === undefined ? key.name : `${key.namespace}/${key.name}`;
}

/** Parses a text that {@link formatKey} returned. The text is unambiguous, because names contain no slash. */
export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf('/');
  return slash < 0 ? { name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

/** Returns the key of an object: its namespace, if it has one, and its name. */
export function keyOf(object: ApiObject): ObjectKey {
  const { namespace, name } = object.metadata;
  return namespace === undefined ? { name } : { namespace, name };
}
