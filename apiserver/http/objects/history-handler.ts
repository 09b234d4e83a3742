import { ApiError, isConfidential } from '@homeostat/controller-runtime/api';
import type { ApiObject, ObjectHistoryList, ObjectKey } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { Resource } from '../../registry/kinds/resource.ts';
import { parseRevision } from '../../registry/history/revisions.ts';
import { decodeObject } from '../../registry/object/object-codec.ts';
import type { ObjectHistory } from '../../registry/reads/object-history.ts';
import { requireRead } from '../response/cacheable-answer.ts';
import { firstOf, integerOf, queryOf } from '../request/query.ts';
import { sendJson } from '../response/responses.ts';

export interface HistoryCall {
  readonly context: Context;
  readonly resource: Resource;
  readonly key: ObjectKey;
}

export interface HistoryHandlerParts {
  readonly history: ObjectHistory;
  /** True for kinds whose objects are encrypted in the database. */
  readonly isEncrypted: (resource: Resource) => boolean;
}

const defaultLimit = 50;
const maxLimit = 500;

/**
 * Handles `GET …/<name>/history`, and `GET …/<name>` at a former revision. The user needs the permission to get the
 * object.
 */
export class HistoryHandler {
  readonly #parts: HistoryHandlerParts;

  constructor(parts: HistoryHandlerParts) {
    this.#parts = parts;
  }

  async handle({ context, resource, key }: HistoryCall): Promise<void> {
    requireRead(context);
    const query = queryOf(context);
    const token = firstOf(query, 'continue');
    const limit = Math.min(integerOf(query, 'limit', 1) ?? defaultLimit, maxLimit);
    const before = token === undefined ? Number.POSITIVE_INFINITY : parseRevision(token);
    const isSecret = (object: ApiObject): boolean => isConfidential(object) || this.#parts.isEncrypted(resource);
    const page = await this.#parts.history.page(resource, key, { limit, before, isSecret });
    const list: ObjectHistoryList = {
      apiVersion: 'controllers.homeostat.internal/v1alpha1',
      kind: 'ObjectHistory',
      metadata: page.before === undefined ? {} : { continue: String(page.before) },
      compactedRevision: String(page.floor),
      items: page.items,
    };
    sendJson(context, list);
  }

  /**
   * Returns the object at the revision that the request names. @throws ApiError Forbidden for a former state of a
   * Secret, an ExternalEffect, or an object of an encrypted kind, because this state may contain secrets
   */
  async exactState({ context, resource, key }: HistoryCall): Promise<{ readonly bytes: Buffer }> {
    const asked = firstOf(queryOf(context), 'resourceVersion');
    if (asked === undefined || asked === '' || asked === '0')
      throw new ApiError('BadRequest', 'resourceVersionMatch: Exact needs a resourceVersion above 0');
    const revision = parseRevision(asked);
    const entry = await this.#parts.history.stateAt(resource, key, revision);
    const isPresent = resource.cache.get(entry.key)?.revision === entry.revision;
    if (isPresent || !(isConfidential(decodeObject(entry.bytes)) || this.#parts.isEncrypted(resource))) return entry;
    throw new ApiError(
      'Forbidden',
      `${resource.model.plural}: former states cannot be read, because they may hold secrets`,
    );
  }
}

/**
 * True for a GET of an object at a former revision. Like a list at a former revision, it has
 * `resourceVersionMatch=Exact`.
 */
export function asksForRevision(context: Context): boolean {
  const { querystring } = context;
  return querystring.includes('resourceVersionMatch') && firstOf(queryOf(context), 'resourceVersionMatch') === 'Exact';
}
