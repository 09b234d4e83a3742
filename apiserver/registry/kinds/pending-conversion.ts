import { ApiError } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';

/** Converts objects elsewhere, and keeps the results for a while. */
export interface RemoteConverter {
  /** Resolves when all objects, of one version, are converted to `apiVersion` and kept. @throws ApiError InternalError */
  fetch(objects: readonly ApiObject[], apiVersion: string): Promise<void>;
}

/** Thrown by a conversion whose result has to be fetched first. Then the same conversion succeeds. */
export class PendingConversion extends Error {
  override readonly name = 'PendingConversion';
  readonly object: ApiObject;
  readonly apiVersion: string;
  readonly converter: RemoteConverter;

  constructor(object: ApiObject, apiVersion: string, converter: RemoteConverter) {
    super(`the conversion to ${apiVersion} has to be fetched`);
    this.object = object;
    this.apiVersion = apiVersion;
    this.converter = converter;
  }

  fetch(): Promise<void> {
    return this.converter.fetch([this.object], this.apiVersion);
  }
}

/** Most conversions that one piece of work may need, one after the other. */
const maxFetches = 16;

/** Runs work again each time a conversion that it needs was fetched. The work must have no effects until it succeeds. */
export async function whenConverted<T>(work: () => T | Promise<T>): Promise<T> {
  for (let fetches = 0; fetches < maxFetches; fetches += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof PendingConversion)) throw error;
      await error.fetch();
    }
  }
  throw new ApiError(
    'InternalError',
    'Internal error occurred: the conversion webhook returns something else at each call',
  );
}
