import type { ApiObject } from '@homeostat/controller-runtime/api';

/**
 * The rules that a built-in kind has in addition to those of all kinds. The functions do not modify their arguments.
 */
export interface KindStrategy {
  /** Returns the object to create, with the fields that the server sets. */
  readonly completeNew: (object: ApiObject) => ApiObject;
  /** Returns the next state of a stored object, with the fields that the server sets. */
  readonly completeNext: (next: ApiObject, stored: ApiObject) => ApiObject;
  /** @throws ApiError Forbidden for an object that must not be deleted. */
  readonly checkDelete: (stored: ApiObject) => void;
  /** Returns true when an object that is marked for deletion must stay for now, whatever its finalizers are. */
  readonly isHeld: (object: ApiObject) => boolean;
  /** Returns the form in which an object is stored when it is marked for deletion. */
  readonly declareDeleted: (object: ApiObject) => ApiObject;
  /** Returns the stored object with the changes of a write to the subresource `finalize`. */
  readonly finalize: (stored: ApiObject, sent: ApiObject) => ApiObject;
}
