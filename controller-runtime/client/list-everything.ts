import type { ApiObject, Model } from '../api/index.ts';
import type { Client, ListOptions } from './client.ts';

/**
 * The number of objects in a chunk. It is so large that a small kind needs only one request, and so small that no
 * response blocks the event loop for long.
 */
const chunkSize = 1000;

export interface Listed<T extends ApiObject> {
  readonly items: readonly T[];
  /** The revision of the list: all items are in the state at this revision. */
  readonly resourceVersion: string;
}

export type EverythingOptions = Omit<ListOptions, 'sort' | 'page' | 'size' | 'limit' | 'continue'>;

/**
 * Reads all objects that the options select, in chunks, in their state at one revision. Rejects with Expired when the
 * server drops the history of that revision before the last chunk is read.
 */
export async function listEverything<T extends ApiObject>(
  client: Pick<Client, 'list'>,
  model: Model<T>,
  options: EverythingOptions,
): Promise<Listed<T>> {
  // The token contains the revision, so the request for a further chunk must not have a revision.
  const { resourceVersion: _revision, resourceVersionMatch: _match, ...continued } = options;
  let chunk = await client.list(model, { ...options, limit: chunkSize });
  const { resourceVersion } = chunk.metadata;
  const items = [...chunk.items];
  for (let token = chunk.metadata.continue; isToken(token); token = chunk.metadata.continue) {
    chunk = await client.list(model, { ...continued, limit: chunkSize, continue: token });
    for (const item of chunk.items) items.push(item);
  }
  return { items, resourceVersion };
}

/** True when there is a further chunk: an empty or absent token marks the end of the list. */
function isToken(token: string | undefined): token is string {
  return token !== undefined && token !== '';
}
