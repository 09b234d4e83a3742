import type { ApiObject } from '@homeostat/controller-runtime/api';

/** The rules of a built-in kind in addition to those of all kinds. Pure: arguments are not modified. */
export interface KindStrategy {
  /** Completes a new object with the fields that the server sets. */
  readonly completeNew: (object: ApiObject) => ApiObject;
  /** Completes the next state of a stored object with the fields that the server sets. */
  readonly completeNext: (next: ApiObject, stored: ApiObject) => ApiObject;
  /** @throws ApiError Forbidden for an object that must not be deleted. */
  readonly checkDelete: (stored: ApiObject) => void;
  /** True when an object marked for deletion has to stay for now, whatever its finalizers are. */
  readonly isHeld: (object: ApiObject) => boolean;
  /** Returns the object in the state after it was marked for deletion. */
  readonly declareDeleted: (object: ApiObject) => ApiObject;
  /** Returns the stored object as changed by a write of the subresource `finalize`. */
  readonly finalize: (stored: ApiObject, sent: ApiObject) => ApiObject;
}
