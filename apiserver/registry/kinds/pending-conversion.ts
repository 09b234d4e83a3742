import { ApiError, isApiError } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';

/** Converts objects elsewhere, and keeps the results for a while. */
export interface RemoteConverter {
  /** Resolves when all objects, of one version, are converted to `apiVersion` and kept. @throws ApiError InternalError */
  fetch(objects: readonly ApiObject[], apiVersion: string): Promise<void>;
  /** Makes the conversion of the object throw this error, until the returned function is called. */
  refuse(object: ApiObject, apiVersion: string, error: ApiError): () => void;
}

/** Thrown by a conversion whose result has to be fetched first. Then the same conversion succeeds. */
export class PendingConversion extends Error {
  override readonly name = 'PendingConversion';
  readonly object: ApiObject;
  readonly apiVersion: string;
  readonly converter: RemoteConverter;
  /**
   * True when the work can continue without the result: if the conversion fails, the work runs again, and the
   * conversion throws.
   */
  isOptional = false;

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

/** The maximum number of conversions that one piece of work may need, one after the other. */
const maxFetches = 16;

/** Runs work again each time a conversion that it needs was fetched. The work must have no effects until it succeeds. */
export async function whenConverted<T>(work: () => T | Promise<T>): Promise<T> {
  const refusals: (() => void)[] = [];
  try {
    return await retried(work, refusals);
  } finally {
    for (const end of refusals) end();
  }
}

/** Runs work like {@link whenConverted}, and adds the functions that end refusals to `refusals`. */
async function retried<T>(work: () => T | Promise<T>, refusals: (() => void)[]): Promise<T> {
  for (let fetches = 0; fetches < maxFetches; fetches += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof PendingConversion)) throw error;
      const refusal = await fetched(error);
      if (refusal !== undefined) refusals.push(refusal);
    }
  }
  throw new ApiError(
    'InternalError',
    'Internal error occurred: the conversion webhook returns something else at each call',
  );
}

/** Fetches a conversion. When an optional one fails, it is refused until the returned function is called. */
async function fetched(pending: PendingConversion): Promise<(() => void) | undefined> {
  const { converter, object, apiVersion, isOptional } = pending;
  try {
    await pending.fetch();
    return undefined;
  } catch (error) {
    if (!isOptional || !isApiError(error)) throw error;
    return converter.refuse(object, apiVersion, error);
  }
}
