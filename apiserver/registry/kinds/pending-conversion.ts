import { ApiError, isApiError } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';

/** Converts objects in another program, and keeps the results for a while. */
export interface RemoteConverter {
  /**
   * Resolves when all objects are converted to `apiVersion`, and the results are kept. Before the call, all objects
   * must be in one version. @throws ApiError InternalError
   */
  fetch(objects: readonly ApiObject[], apiVersion: string): Promise<void>;
  /** Makes the conversion of the object throw this error, until the returned function is called. */
  refuse(object: ApiObject, apiVersion: string, error: ApiError): () => void;
}

/** An error of a conversion whose result has to be fetched first. Once it is fetched, the same conversion succeeds. */
export class PendingConversion extends Error {
  override readonly name = 'PendingConversion';
  readonly object: ApiObject;
  readonly apiVersion: string;
  readonly converter: RemoteConverter;
  /**
   * True when the work can succeed without the conversion. If the webhook fails, the work runs again; then the
   * conversion throws an ApiError, and the work catches it.
   */
  isOptional = false;

  constructor(object: ApiObject, apiVersion: string, converter: RemoteConverter) {
    super(`the webhook must first convert the object to ${apiVersion}`);
    this.object = object;
    this.apiVersion = apiVersion;
    this.converter = converter;
  }

  fetch(): Promise<void> {
    return this.converter.fetch([this.object], this.apiVersion);
  }
}

/** The maximum number of conversions that one call of {@link whenConverted} fetches, one after the other. */
const maxFetches = 16;

/**
 * Runs `work`; each time a conversion is missing, fetches it and runs `work` again. `work` must have no effects until
 * it succeeds.
 */
export async function whenConverted<T>(work: () => T | Promise<T>): Promise<T> {
  const refusals: (() => void)[] = [];
  try {
    return await retried(work, refusals);
  } finally {
    for (const end of refusals) end();
  }
}

/**
 * Runs `work`; each time `work` needs a conversion that is missing, asks the webhook for it, and runs `work` again. If
 * the webhook fails for an optional conversion ({@link PendingConversion.isOptional}), each later attempt at this
 * conversion throws the webhook's error, until the caller calls the function that is then added to `refusals`.
 */
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
    'Internal error occurred: the conversion webhook returns a different result at each call',
  );
}

/**
 * Fetches the result of a conversion. Rejects with the error if this fails. For an optional conversion that fails with
 * an ApiError, resolves with a function instead: until this function is called, each attempt at the conversion throws
 * the error.
 */
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
