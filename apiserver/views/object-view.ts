/** Objects as they are stored, under the envelope of their list. */
export interface ListedObjects {
  readonly entries: readonly { readonly bytes: Buffer }[];
  envelope(): { readonly apiVersion: string; readonly kind: string; readonly metadata: object };
}

/** Version of `meta.k8s.io`, the group of Kubernetes' own views. */
export type MetaVersion = 'v1' | 'v1beta1';

/** Another form that a client asks for objects in (`as=` of its Accept header). All bytes are JSON. */
export interface ObjectView {
  ofObject(object: Buffer): Buffer;
  ofList(list: ListedObjects): Buffer;
  /** The objects of one watch, in their order; bookmarks too. */
  ofEvents(): (object: Buffer) => Buffer;
}
