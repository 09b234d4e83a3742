/** A list without its objects. */
export interface ListEnvelope {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: object;
}

/** A list in another form. */
export interface ListView {
  /** All fields except `items`. */
  readonly head: object;
  readonly field: 'items' | 'rows';
  /** Returns the item for an object. */
  readonly itemOf: (object: Buffer) => Buffer;
}

/** A version of `meta.k8s.io`, the group of Kubernetes' views. */
export type MetaVersion = 'v1' | 'v1beta1';

/** A form of objects that a client requests (`as=` in its Accept header). All bytes are JSON. */
export interface ObjectView {
  ofObject(object: Buffer): Buffer;
  ofList(envelope: ListEnvelope): ListView;
  /** Returns a function that converts the objects of one watch in their order, including bookmarks. */
  ofEvents(): (object: Buffer) => Buffer;
}
