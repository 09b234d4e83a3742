/** A request for objects. The names are those of Kubernetes' `ResourceAttributes` (authorization.k8s.io/v1). */
export interface ResourceAttributes {
  readonly isResource: true;
  /**
   * The verb: get, list, watch, create, update, patch, delete, deletecollection, or a verb that only RBAC has:
   * escalate, bind, impersonate.
   */
  readonly verb: string;
  /** The API group; empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** The plural. */
  readonly resource: string;
  readonly subresource?: string | undefined;
  /**
   * The namespace; absent for a request at the cluster scope, and for a request across all namespaces. For a request
   * about one Namespace, its name.
   */
  readonly namespace?: string | undefined;
  /**
   * The name of the object; absent for creations of objects, for deletions of collections, and for lists and watches
   * without a field selector that names one object.
   */
  readonly name?: string | undefined;
}

/**
 * A request that is not for objects: discovery, metrics, documentation, an endpoint of a plugin. Kubernetes calls such
 * paths `nonResourceURLs`.
 */
interface PathAttributes {
  readonly isResource: false;
  /** The method in lower case, as Kubernetes has it: get, post, put, patch, delete, head, options. */
  readonly verb: string;
  /** The path without the query. Before authorization decides about a request, one slash at the end is removed. */
  readonly path: string;
}

/** The action that a request wants to perform. */
export type Attributes = ResourceAttributes | PathAttributes;
