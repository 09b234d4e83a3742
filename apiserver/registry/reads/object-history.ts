import { ApiError, formatKey, recordedChanges, writerOf } from '@homeostat/controller-runtime/api';
import type { ApiObject, HistoryEntry, ObjectKey } from '@homeostat/controller-runtime/api';
import type { FeedChange } from '../../index/feed-change.ts';
import type { Entry } from '../../index/entry.ts';
import { isBroken } from '../../index/broken-entry.ts';
import { nextTurn } from '../../turns/next-turn.ts';
import type { RecentWriters, Revisions } from '../history/revisions.ts';
import type { Resource } from '../kinds/resource.ts';
import { decodeObject } from '../object/object-codec.ts';
import { notFound } from '../object/resource-errors.ts';

export interface ObjectHistoryParts {
  readonly revisions: Revisions;
  readonly writers: RecentWriters;
}

/** A page of an object's history, the newest change first. */
export interface HistoryPage {
  readonly items: readonly HistoryEntry[];
  /** The value of `before` for the next page, which has older changes; undefined when the log has no older ones. */
  readonly before: number | undefined;
  /** Changes up to this revision are no longer available. */
  readonly floor: number;
}

/** The maximum number of the kind's changes examined in one turn, which takes some milliseconds. */
const seenPerTurn = 20_000;
/** The maximum number of the kind's changes examined for one request, which takes some hundred milliseconds. */
const seenPerRequest = 1_000_000;

/**
 * Reads the changes of an object from the change log in memory. The log has the changes from which watches can resume.
 */
export class ObjectHistory {
  readonly #parts: ObjectHistoryParts;

  constructor(parts: ObjectHistoryParts) {
    this.#parts = parts;
  }

  /**
   * Returns the last changes of an object before a revision. `isSecret` returns true for objects whose values must not
   * be shown.
   * @throws ApiError NotFound when the object does not exist, and the log has no change of it
   */
  async page(
    resource: Resource,
    key: ObjectKey,
    { limit, before, isSecret }: { limit: number; before: number; isSecret: (object: ApiObject) => boolean },
  ): Promise<HistoryPage> {
    await this.#parts.revisions.reach(undefined);
    resource.checkServed();
    const found = await changesBefore(resource, formatKey(key), { before, limit });
    if (found.changes.length === 0 && resource.cache.get(formatKey(key)) === undefined)
      throw notFound(resource.model, key.name);
    const items: HistoryEntry[] = [];
    for (const change of found.changes) {
      // The comparison of two large objects takes milliseconds, so each comparison begins in another turn.
      if (items.length > 0) await nextTurn();
      items.push(this.#entryOf(resource, change, isSecret));
    }
    return { items, before: found.before, floor: resource.feed.floor };
  }

  /**
   * Returns the state of an object at a revision. @throws ApiError NotFound when the object did not exist then or its
   * state cannot be read, Expired when the log no longer has all changes after this revision
   */
  async stateAt(resource: Resource, key: ObjectKey, revision: number): Promise<Entry> {
    await this.#parts.revisions.reach(String(revision));
    resource.checkServed();
    const name = formatKey(key);
    if (revision < resource.feed.floor) throw expired(revision, resource.feed.floor);
    let state = resource.cache.get(name);
    for (let before: number | undefined = Number.POSITIVE_INFINITY; before !== undefined;) {
      const { changes, next } = resource.feed.changesOf(name, { before, after: revision, most: seenPerTurn });
      for (const change of changes) state = change.previous;
      before = next;
      if (before !== undefined) await nextTurn();
      if (revision < resource.feed.floor) throw expired(revision, resource.feed.floor);
    }
    if (state === undefined || isBroken(state)) throw notFound(resource.model, key.name);
    return resource.show(state);
  }

  #entryOf(resource: Resource, change: FeedChange, isSecret: (object: ApiObject) => boolean): HistoryEntry {
    const { type, revision, entry, previous } = change;
    const verb = type === 'ADDED' ? 'create' : type === 'DELETED' ? 'delete' : 'update';
    const user = this.#parts.writers.of(revision);
    const by = user === undefined ? {} : { user };
    const after = shown(resource, entry);
    const before = previous === undefined ? undefined : shown(resource, previous);
    if (after === undefined || (previous !== undefined && before === undefined))
      return { resourceVersion: String(revision), verb, ...by, unreadable: true };
    const { generation, uid } = after.metadata;
    const manager = type === 'DELETED' ? undefined : writerOf(after, before);
    const isMarked = before?.metadata.deletionTimestamp !== after.metadata.deletionTimestamp;
    const time = isMarked ? after.metadata.deletionTimestamp : timeOf(change, after, manager);
    const { changes, omitted } = recordedChanges(before, type === 'DELETED' ? before : after, isSecret);
    return {
      resourceVersion: String(revision),
      verb,
      ...(time === undefined ? {} : { time }),
      ...(manager === undefined ? {} : { manager }),
      ...by,
      generation,
      uid,
      changes,
      ...(omitted === 0 ? {} : { omittedChanges: omitted }),
    };
  }
}

async function changesBefore(
  { feed }: Resource,
  name: string,
  { before, limit }: { before: number; limit: number },
): Promise<{ readonly changes: readonly FeedChange[]; readonly before: number | undefined }> {
  const found: FeedChange[] = [];
  let next: number | undefined = before;
  for (let seen = 0; next !== undefined && found.length < limit && seen < seenPerRequest; seen += seenPerTurn) {
    if (seen > 0) await nextTurn();
    const step = feed.changesOf(name, { before: next, after: 0, most: seenPerTurn });
    found.push(...step.changes);
    ({ next } = step);
  }
  const page = found.slice(0, limit);
  return { changes: page, before: found.length > limit ? page.at(-1)?.revision : next };
}

/**
 * Returns the object of an entry in the version of `resource`; undefined when the object cannot be read, or cannot be
 * converted to that version.
 */
function shown(resource: Resource, entry: Entry): ApiObject | undefined {
  if (isBroken(entry)) return undefined;
  try {
    return decodeObject(resource.show(entry).bytes);
  } catch {
    return undefined;
  }
}

/** Returns the time of a change. The log has no times, so the time is taken from the object's metadata. */
function timeOf({ type }: FeedChange, { metadata }: ApiObject, manager: string | undefined): string | undefined {
  if (type === 'ADDED') return metadata.creationTimestamp;
  if (type === 'DELETED') return metadata.deletionTimestamp;
  const times = (metadata.managedFields ?? []).flatMap((each) =>
    each.manager === manager && each.time !== undefined ? [each.time] : [],
  );
  return times.sort().at(-1);
}

function expired(revision: number, floor: number): ApiError {
  return new ApiError('Expired', `too old resource version: ${revision} (${floor})`);
}
