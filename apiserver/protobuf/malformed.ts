import { ApiError } from '@homeostat/controller-runtime/api';

/** Returns the error (400) for a body that does not encode the expected message. */
export function malformed(why: string): ApiError {
  return new ApiError('BadRequest', `the body is not valid Kubernetes protobuf: ${why}`);
}
