/** A list without its objects. */
export interface ListEnvelope {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: object;
}

/** The parts of a list response in the form that the client requested (see {@link ObjectView}), such as a Table. */
export interface ListView {
  /** All fields of the response except the field that contains the items. */
  readonly head: object;
  readonly field: 'items' | 'rows';
  /** Converts the JSON of an object to the JSON of its item in the list. */
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
