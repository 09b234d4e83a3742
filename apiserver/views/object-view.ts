/** All of a list but its objects. */
export interface ListEnvelope {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: object;
}

/** A list in another form. */
export interface ListView {
  /** All fields but that of the items. */
  readonly head: object;
  readonly field: 'items' | 'rows';
  /** An item, of its object. */
  readonly itemOf: (object: Buffer) => Buffer;
}

/** Version of `meta.k8s.io`, the group of Kubernetes' own views. */
export type MetaVersion = 'v1' | 'v1beta1';

/** Another form that a client asks for objects in (`as=` of its Accept header). All bytes are JSON. */
export interface ObjectView {
  ofObject(object: Buffer): Buffer;
  ofList(envelope: ListEnvelope): ListView;
  /** The objects of one watch, in their order; bookmarks too. */
  ofEvents(): (object: Buffer) => Buffer;
}
