import { ignoreNotFound, isNotFound, type ApiObject, type ModelDescriptor } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { isLostRace } from '../../client/retryable-errors.ts';
import { idOf, targetOf } from './cache-view.ts';
import type { FinalizerChange } from './finalizers.ts';
import type { OwnRevisions } from './own-revisions.ts';

/**
 * The maximum number of attempts. An attempt fails when another client writes the object between the read and the
 * write; the next attempt reads it again.
 */
const maxTries = 5;

export interface FinalizerParts {
  readonly client: Client;
  readonly model: ModelDescriptor;
  readonly finalizerWrites: OwnRevisions;
  /**
   * Returns true for a state of the object in which the finalizers may be written. When another client has written a
   * state for which it returns false, the write of the finalizers rejects with the conflict. Default: always true.
   */
  readonly mayWrite?: (fresh: ApiObject) => boolean;
}

/**
 * Stores the finalizers that `change` returns. Returns the resulting object; undefined when the object is deleted, or
 * when its deletion has begun in the meantime. The list is replaced as a whole, so the precondition of the write is the
 * revision that was read. After a conflict, the write is retried.
 */
export async function writeFinalizers(
  parts: FinalizerParts,
  object: ApiObject,
  change: (finalizers: readonly string[] | undefined) => FinalizerChange,
): Promise<ApiObject | undefined> {
  let present = object;
  for (let attempt = 1; ; attempt += 1) {
    const { finalizers, changed } = change(present.metadata.finalizers);
    if (!changed) return present;
    let lost: unknown;
    try {
      return await store(parts, present, finalizers);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (!isLostRace(error) || attempt >= maxTries) throw error;
      lost = error;
    }
    const fresh = await readAgain(parts, present);
    if (fresh === undefined) return undefined;
    // The deletion of the object has begun in the meantime. No finalizer can be added to it any longer, and the
    // deletion causes another run.
    if (fresh.metadata.deletionTimestamp !== object.metadata.deletionTimestamp) return undefined;
    if (parts.mayWrite?.(fresh) === false) throw lost;
    present = fresh;
  }
}

function store(
  { client, model, finalizerWrites }: FinalizerParts,
  object: ApiObject,
  finalizers: readonly string[],
): Promise<ApiObject> {
  const { name, uid, resourceVersion } = object.metadata;
  const patch = { metadata: { finalizers } };
  const options = { preconditions: { uid, resourceVersion }, ...namespaceOf(object) };
  return finalizerWrites.write(
    idOf(targetOf(object)),
    () => client.patch(model, name, { type: 'merge', patch }, options),
    (stored) => stored.metadata.resourceVersion,
  );
}

/** Reads the object again. Returns undefined when it is deleted, or when a new object has its name. */
async function readAgain({ client, model }: FinalizerParts, object: ApiObject): Promise<ApiObject | undefined> {
  const { name, uid } = object.metadata;
  const fresh = await client.get(model, name, namespaceOf(object)).catch(ignoreNotFound);
  return fresh?.metadata.uid === uid ? fresh : undefined;
}

function namespaceOf({ metadata: { namespace } }: ApiObject): { readonly namespace?: string } {
  return namespace === undefined ? {} : { namespace };
}
