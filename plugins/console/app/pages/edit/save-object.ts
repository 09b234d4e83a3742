import { isObject } from '../../base/json.ts';
import type { JsonObject } from '../../base/json.ts';
import { isApiObject, nameOf, namespaceOf } from '../../base/object.ts';
import type { ApiObject } from '../../base/object.ts';
import { ApiFailure } from '../../api/failure.ts';
import { pathOf } from '../../api/resources.ts';
import type { Resource } from '../../api/resources.ts';
import { api } from '../../state/session.ts';

export interface Saved {
  readonly object: ApiObject;
  readonly warnings: readonly string[];
}

export interface SaveRequest {
  readonly resource: Resource;
  readonly draft: JsonObject;
  /** The stored object that the draft replaces; undefined to create one. */
  readonly stored: ApiObject | undefined;
  /** True for a dry run: nothing is stored, and the response has the object that would be stored. */
  readonly isDryRun: boolean;
}

/** The field manager of changes that the console makes. */
const fieldManager = 'console';

/** Creates or replaces an object. @throws ApiFailure */
export async function saveObject({ resource, draft, stored, isDryRun }: SaveRequest): Promise<Saved> {
  const query = { fieldManager, fieldValidation: 'Warn', dryRun: isDryRun ? 'All' : undefined };
  const metadata = isObject(draft.metadata) ? draft.metadata : {};
  const named = { ...draft, metadata };
  const answer =
    stored === undefined
      ? await api.call(pathOf(resource, namespaceOf(named)), { method: 'POST', query, body: draft })
      : await api.call(pathOf(resource, namespaceOf(stored), nameOf(stored)), {
          method: 'PUT',
          query,
          body: replacement(draft, stored),
        });
  if (!isApiObject(answer.body)) throw new ApiFailure('the server sent no object', { status: 0, reason: 'Failed' });
  return { object: answer.body, warnings: answer.warnings };
}

/**
 * Returns the draft with the uid, resource version, creation time and status of the stored object. If the kind has no
 * status subresource, a PUT that leaves out the status would remove it.
 */
function replacement(draft: JsonObject, stored: ApiObject): JsonObject {
  const { uid, resourceVersion, creationTimestamp } = stored.metadata;
  const metadata = { ...(isObject(draft.metadata) ? draft.metadata : {}), uid, resourceVersion, creationTimestamp };
  return { ...draft, metadata, ...(stored.status === undefined ? {} : { status: stored.status }) };
}
