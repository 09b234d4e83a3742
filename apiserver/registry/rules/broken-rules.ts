import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { ApiObject, ObjectMeta } from '@homeostat/controller-runtime/api';
import type { Steps } from '../../turns/steps.ts';
import type { CreateProposal, DeleteProposal } from './proposal.ts';
import { requireName } from './read-draft.ts';
import type { CreateRequest, Rules, WriteRequest } from './write-request.ts';
import { checkPreconditions, proposeCreate } from './write-rules.ts';

/** The format of a uid that a client may send for an object that it replaces. */
const uidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Proposes the replacement (PUT) of a stored object that cannot be read. The sent object is checked like a creation.
 * The object gets the stored uid if that can still be read, otherwise the sent uid if that is a UUID, so that its
 * dependents stay. Without either, it gets a new uid. `stored` has no fields except the type, the name, the namespace,
 * the revision, and the uid if that can be read.
 */
export function* proposeReplacement(
  rules: Rules,
  stored: ApiObject,
  body: () => unknown,
  request: CreateRequest,
): Steps<CreateProposal> {
  const sentBody = body();
  if (request.isLong) yield;
  const metadata = metadataOf(sentBody);
  requireName({ metadata }, request);
  const { uid: sent, resourceVersion, version: _version, ...rest } = metadata;
  const uid = uidOf(stored) ?? (typeof sent === 'string' && uidPattern.test(sent) ? sent : request.uid);
  checkPreconditions(rules.model, withUid(stored, uid), textsIn({ uid: sent, resourceVersion }));
  const draft = { ...(isJsonObject(sentBody) ? sentBody : {}), metadata: rest };
  const proposal = yield* proposeCreate(rules, () => draft, { ...request, uid });
  return { ...proposal, op: 'update' };
}

/**
 * Proposes the deletion of an object that cannot be read. The object is removed immediately, because its finalizers are
 * unknown. If a rule of its kind keeps the object, as for a namespace, the object is only marked for deletion.
 */
export function proposeBrokenDelete(
  rules: Rules,
  stored: ApiObject,
  request: WriteRequest & { readonly uid: string },
): DeleteProposal {
  const { now } = request;
  const uid = uidOf(stored) ?? request.uid;
  const metadata = { ...stored.metadata, uid, version: 0, generation: 0, creationTimestamp: now };
  const object = rules.strategy?.completeNew({ ...stored, metadata }) ?? stored;
  return { verb: 'delete', request, object, policy: 'Background' };
}

type Sent = Readonly<Partial<Record<keyof ObjectMeta, unknown>>>;

/** Returns the metadata of a body that is not checked yet; an empty object when the body has no metadata. */
function metadataOf(body: unknown): Sent {
  if (typeof body !== 'object' || body === null || !('metadata' in body)) return {};
  const { metadata } = body;
  return isJsonObject(metadata) ? metadata : {};
}

/** Returns the uid of a stored object that cannot be read; undefined when the uid cannot be read either. */
function uidOf({ metadata }: ApiObject): string | undefined {
  const { uid }: Partial<ObjectMeta> = metadata;
  return uid;
}

function withUid(stored: ApiObject, uid: string): ApiObject {
  return { ...stored, metadata: { ...stored.metadata, uid } };
}

function textsIn(fields: Readonly<Record<string, unknown>>): Partial<ObjectMeta> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value === 'string'));
}
