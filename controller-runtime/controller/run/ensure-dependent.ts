import {
  applyMergePatch,
  deepEqual,
  descriptorOf,
  ignoreNotFound,
  isNotFound,
  parseKey,
  type ApiObject,
  type Model,
  type ModelDescriptor,
  type NewObject,
  type ObjectKey,
  type ObjectMeta,
} from '../../api/index.ts';
import type { Client, Desired } from '../../client/client.ts';
import { isLostRace } from '../../client/retryable-errors.ts';
import { targetIn, type CacheView } from './cache-view.ts';
import { controllerReferenceTo, setOwnerReference } from '../definition/owner-references.ts';
import { toJson } from '../../client/to-json.ts';

/**
 * The maximum number of attempts. An attempt fails when another client writes the dependent between the read and the
 * write; the next attempt reads it again.
 */
const maxTries = 5;

/** The desired fields, as JSON. */
interface Wanted {
  readonly metadata?: Partial<ObjectMeta>;
  readonly [field: string]: unknown;
}

export interface EnsureParts {
  readonly client: Client;
  readonly view: CacheView;
  readonly owner: ApiObject;
}

/**
 * Creates the dependent, or merges the desired fields into it, with `owner` as its controller owner. Reads the
 * dependent from the cache when the controller follows its kind. The precondition of the write is the revision that was
 * read: if the cache is out of date, the write is refused and tried again.
 */
export async function ensureDependent<O extends ApiObject>(
  parts: EnsureParts,
  dependent: { readonly model: Model<O>; readonly key: string | ObjectKey },
  desired: Desired<O>,
): Promise<O> {
  const model = descriptorOf(dependent.model);
  const key = dependentKey(model, dependent.key, parts.owner);
  const wanted = toJson<unknown>(desired) as Wanted;
  for (let attempt = 1; ; attempt += 1) {
    const present = await readPresent(parts, { model, key, fresh: attempt > 1 });
    try {
      if (present === undefined) return await createDependent(parts, { model, key }, wanted);
      return await mergeInto(parts, { model, present }, wanted);
    } catch (error) {
      const lostRace = isLostRace(error) || (isNotFound(error) && present !== undefined);
      if (!lostRace || attempt >= maxTries) throw error;
    }
  }
}

/**
 * Returns the key of a dependent. If only a name is given, the namespace is that of the owner. Throws when `owner`
 * cannot own an object with this key.
 */
export function dependentKey(model: ModelDescriptor, given: string | ObjectKey, owner: ApiObject): ObjectKey {
  const key = typeof given === 'string' ? parseKey(given) : given;
  const ownerNamespace = owner.metadata.namespace;
  if (model.scope === 'Cluster') {
    if (ownerNamespace === undefined) return { name: key.name };
    throw new Error(
      `${model.kind} "${key.name}" is Cluster-scoped: ${owner.kind} "${owner.metadata.name}" in a namespace cannot own it`,
    );
  }
  const namespace = key.namespace ?? ownerNamespace;
  if (namespace === undefined) throw new Error(`${model.kind} "${key.name}" needs a namespace`);
  if (ownerNamespace === undefined || ownerNamespace === namespace) return { namespace, name: key.name };
  throw new Error(`${owner.kind} "${owner.metadata.name}" cannot own ${model.kind} "${key.name}" in another namespace`);
}

async function readPresent<O extends ApiObject>(
  { client, view }: EnsureParts,
  { model, key, fresh }: { readonly model: ModelDescriptor<O>; readonly key: ObjectKey; readonly fresh: boolean },
): Promise<O | undefined> {
  const target = targetIn(model, key);
  if (!fresh && view.follows(target.cacheId)) return view.read(target) as O | undefined;
  return client.get(model, key.name, namespaceOf(key)).catch(ignoreNotFound);
}

function createDependent<O extends ApiObject>(
  { client, owner }: EnsureParts,
  { model, key }: { readonly model: ModelDescriptor<O>; readonly key: ObjectKey },
  desired: Wanted,
): Promise<O> {
  const ownerReferences = setOwnerReference(desired.metadata?.ownerReferences, controllerReferenceTo(owner));
  const object = { ...desired, metadata: { ...desired.metadata, ...key, ownerReferences } };
  return client.create(model, object as unknown as NewObject<O>, namespaceOf(key));
}

async function mergeInto<O extends ApiObject>(
  { client, owner }: EnsureParts,
  { model, present }: { readonly model: ModelDescriptor<O>; readonly present: O },
  desired: Wanted,
): Promise<O> {
  const { name, namespace, uid, resourceVersion } = present.metadata;
  const listed = desired.metadata?.ownerReferences ?? [];
  let ownerReferences = present.metadata.ownerReferences ?? [];
  for (const reference of [...listed, controllerReferenceTo(owner)]) {
    ownerReferences = setOwnerReference(ownerReferences, reference);
  }
  const metadata = { ...desired.metadata, ownerReferences };
  if (deepEqual(applyMergePatch(present, { ...desired, metadata }), present)) return present;
  const preconditions = { uid, resourceVersion };
  // These preconditions replace the same fields in the author's metadata.
  const patch = { ...desired, metadata: { ...metadata, ...preconditions } };
  const options = namespace === undefined ? { preconditions } : { preconditions, namespace };
  return client.patch(model, name, { type: 'merge', patch }, options);
}

function namespaceOf({ namespace }: ObjectKey): { readonly namespace?: string } {
  return namespace === undefined ? {} : { namespace };
}
