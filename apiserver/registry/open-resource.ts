import { defaultIndexes } from '@homeostat/controller-runtime/api';
import { ChangeFeed } from '../index/change-feed.ts';
import type { FeedChange } from '../index/change-feed.ts';
import { createEntry } from '../index/entry.ts';
import type { Entry } from '../index/entry.ts';
import { History } from '../index/history.ts';
import { IndexValueError } from '../index/index-value-error.ts';
import { KindCache } from '../index/kind-cache.ts';
import { compileSchema } from '../schema/compile-schema.ts';
import { kindNameOf } from '../store/object-key.ts';
import type { Change, Row, Store } from '../store/store.ts';
import { modelValidator } from './model-validator.ts';
import { allocateFrom, decodeObject, maxRevisionBytes, withRevision } from './object-codec.ts';
import type { Allocate } from './object-codec.ts';
import { feedChange, Resource } from './resource.ts';
import type { Registration } from './scheme-manager.ts';

export interface OpenParts {
  readonly store: Store;
  /** The kind's part of the log, taken once; without one, history begins now. */
  readonly takeLog: (kind: number) => KindLog;
  readonly onError: (error: unknown) => void;
  /** The model's `validate` threw what it must not, or answered what it must not. */
  readonly onValidateBug: (error: unknown) => void;
  /** Objects indexed so far; called after each page. */
  readonly onProgress: (indexed: number) => void;
}

/** What the log still has of one kind. */
export interface KindLog {
  /** Changes up to here are gone. */
  readonly floor: number;
  readonly changes: readonly Change[];
}

/** The kind cannot be served with these indexes; nothing of it is registered. */
export class IndexBuildError extends Error {
  override readonly name = 'IndexBuildError';
}

/**
 * Reads a kind's objects, builds its indexes, makes the store's unique claims agree with them, and fills the watch window
 * from the log, so that watchers resume across a restart. Rejects with IndexBuildError, naming index, value and objects.
 */
export async function openResource(registration: Registration, parts: OpenParts): Promise<Resource> {
  const { descriptor: model, owner } = registration;
  const schema = compileSchema(model);
  const cache = new KindCache(model, [...defaultIndexes(), ...model.indexes]);
  const kindNumber = await parts.store.numberOf(kindNameOf(model));
  const entries = await readEntries(cache, kindNumber, parts);
  cache.load(entries);
  checkUnique(cache);
  const log = parts.takeLog(kindNumber);
  const feed = new ChangeFeed({ floor: log.floor, onError: parts.onError });
  const resource = new Resource({
    rules: { model, schema, validateModel: modelValidator(model, parts.onValidateBug) },
    owner,
    kindNumber,
    cache,
    feed,
    history: new History(cache, feed),
    indexNumbers: await numberIndexes(cache, parts.store),
  });
  await parts.store.setClaims(kindNumber, {
    ...resource.claims(),
    revision: await parts.store.currentRevision(),
  });
  for (const change of log.changes) feed.append(restore(resource, change));
  return resource;
}

async function readEntries(cache: KindCache, kindNumber: number, parts: OpenParts): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const rows of parts.store.scan(kindNumber)) {
    const total = rows.reduce((sum, row) => sum + row.data.length + maxRevisionBytes, 0);
    const allocate = allocateFrom(total);
    for (const row of rows) entries.push(entryOf(cache, row, allocate));
    parts.onProgress(entries.length);
  }
  return entries;
}

function entryOf(cache: KindCache, row: Row, allocate: Allocate): Entry {
  const bytes = withRevision(row.data, row.revision, allocate);
  const object = decodeObject(bytes);
  try {
    return createEntry(object, { bytes, revision: row.revision, values: cache.draft(object) });
  } catch (error) {
    if (!(error instanceof IndexValueError)) throw error;
    const message = `index ${error.index} of ${cache.descriptor.kind}: cannot index "${object.metadata.name}": ${error.message}`;
    throw new IndexBuildError(message, { cause: error });
  }
}

function checkUnique(cache: KindCache): void {
  const found = cache.duplicate();
  if (found === undefined) return;
  const [first, second] = found.keys;
  const value = JSON.stringify(found.value);
  throw new IndexBuildError(
    `index ${found.index} of ${cache.descriptor.kind} is unique, but "${first}" and "${second}" both have ${value}`,
  );
}

async function numberIndexes(cache: KindCache, store: Store): Promise<Map<string, number>> {
  const { group, plural } = cache.descriptor;
  const numbers = new Map<string, number>();
  for (const { spec } of cache.indexes) {
    if (!spec.unique || spec.name === 'metadata.name') continue;
    numbers.set(spec.name, await store.numberOf(`index:${group}/${plural}/${spec.name}`));
  }
  return numbers;
}

/** A change from the log, as the feed holds it. Most are the last of their object, which is in memory already. */
function restore({ cache, keyPrefix }: Resource, { op, key, data, revision, previous }: Change): FeedChange {
  const before = previous === undefined ? undefined : pastEntry(cache, previous.data, previous.revision);
  const present = op === 'delete' ? undefined : cache.get(key.slice(keyPrefix.length));
  const entry = present?.revision === revision ? present : pastEntry(cache, data, revision);
  return feedChange(op, entry, before);
}

/** A past state. One that today's index functions cannot read has no values; it must not keep the kind from starting. */
function pastEntry(cache: KindCache, data: Uint8Array, revision: number): Entry {
  const bytes = withRevision(data, revision);
  const object = decodeObject(bytes);
  try {
    return createEntry(object, { bytes, revision, values: cache.draft(object) });
  } catch (error) {
    if (!(error instanceof IndexValueError)) throw error;
    return createEntry(object, { bytes, revision, values: cache.indexes.map(() => []) });
  }
}
