import { ApiError } from '@homeostat/controller-runtime/api';

/** 400 of a body that is not the message it should be. */
export function malformed(why: string): ApiError {
  return new ApiError('BadRequest', `the body is no valid Kubernetes protobuf: ${why}`);
}
