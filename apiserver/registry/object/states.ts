import type { ApiObject } from '@homeostat/controller-runtime/api';

/** An object before and after a write, in the version of the request. */
export interface States {
  readonly before: ApiObject;
  readonly after: ApiObject;
}
