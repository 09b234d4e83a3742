import type { ApiObject } from '@homeostat/controller-runtime/api';

/** What a built-in kind adds to the rules that all kinds have. Pure; nothing that is given is changed. */
export interface KindStrategy {
  /** A new object with what the server decides of it. */
  readonly completeNew: (object: ApiObject) => ApiObject;
  /** The same for the next state of a stored one. */
  readonly completeNext: (next: ApiObject, stored: ApiObject) => ApiObject;
  /** @throws ApiError Forbidden for an object that has to stay. */
  readonly checkDelete: (stored: ApiObject) => void;
  /** Whether the object, declared deleted, has to stay a while, whatever its finalizers say. */
  readonly isHeld: (object: ApiObject) => boolean;
  /** The object as it is once it is declared deleted. */
  readonly declareDeleted: (object: ApiObject) => ApiObject;
  /** What the subresource `finalize` makes of the stored object. */
  readonly finalize: (stored: ApiObject, sent: ApiObject) => ApiObject;
}
