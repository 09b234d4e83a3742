/** A list without its objects. */
export interface ListEnvelope {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: object;
}

/** A list in the form that a view gives it. */
export interface ListView {
  /** All fields of the list except the one with its items. */
  readonly head: object;
  readonly field: 'items' | 'rows';
  /** Returns the item of the list for an object. */
  readonly itemOf: (object: Buffer) => Buffer;
}

/** A version of `meta.k8s.io`, the API group of the views in Kubernetes. */
export type MetaVersion = 'v1' | 'v1beta1';

/** A form in which a client requests objects (`as=` in its Accept header). All bytes are JSON. */
export interface ObjectView {
  ofObject(object: Buffer): Buffer;
  ofList(envelope: ListEnvelope): ListView;
  /**
   * Returns a function that converts the objects of one watch, including bookmarks. The function must be called for the
   * objects in the order of the events.
   */
  ofEvents(): (object: Buffer) => Buffer;
}
