import { ApiError } from '@homeostat/controller-runtime/api';

/** Returns the 400 for a body that is not the expected message. */
export function malformed(why: string): ApiError {
  return new ApiError('BadRequest', `the body is not valid Kubernetes protobuf: ${why}`);
}
