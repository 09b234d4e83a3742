import { defaultIndexes } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { isBroken } from '../../index/broken-entry.ts';
import type { BrokenEntry } from '../../index/broken-entry.ts';
import { ChangeFeed } from '../../index/change-feed.ts';
import type { FeedChange } from '../../index/feed-change.ts';
import { History } from '../../index/queries/history.ts';
import { KindCache } from '../../index/kind-cache.ts';
import { compileSchema } from '../../schema/compile-schema.ts';
import { kindNameOf } from '../../store/object-key.ts';
import type { Change, Row, Store } from '../../store/store.ts';
import { nextTurn } from '../../turns/next-turn.ts';
import { syncUniqueClaims } from './sync-unique-claims.ts';
import type { LoadMemory } from './does-not-fit.ts';
import { EntryNotes } from './entry-notes.ts';
import { fetchConversions } from './fetch-conversions.ts';
import { IndexBuildError, numberIndexes } from './index-build.ts';
import type { SnapshotKeeper } from '../kept/snapshot-keeper.ts';
import type { ValueKeeper } from '../kept/value-keeper.ts';
import { expressionJudge } from '../rules/expression-judge.ts';
import type { KindJudge } from '../rules/kind-judge.ts';
import type { KindStrategy } from '../rules/kind-strategy.ts';
import { judgedRules, modelValidator } from '../rules/model-validator.ts';
import { loadKind } from './load-kind.ts';
import { feedChange, Resource } from './resource.ts';
import type { OtherVersion } from './resource.ts';
import type { Revisions } from '../history/revisions.ts';
import type { Registration } from './scheme-manager.ts';
import { hasUnconverted, lenientEntry, putEntry } from './stored-entry.ts';
import type { KindLog, UnservedLog } from './unserved-log.ts';
import { storedObjectConverter } from './convert-stored-object.ts';
import type { ConvertStored } from './convert-stored-object.ts';
import type { Rules } from '../rules/write-request.ts';

export { IndexBuildError };

/**
 * The number of bytes of the change log that are converted to changes of the feed in one turn of the event loop. This
 * takes 10 ms.
 */
const bytesPerTurn = 1024 * 1024;

export interface OpenParts {
  readonly store: Store;
  /** Collects the changes that other processes make to the kind before it is served. */
  readonly log: UnservedLog;
  readonly revisions: Revisions;
  readonly memory: LoadMemory;
  readonly onError: (error: unknown) => void;
  /** Called when a stored object cannot be converted to the requested version. */
  readonly onUnreadable: (error: unknown) => void;
  /** Called when the model's `validate` throws an unexpected error or returns an invalid result. */
  readonly onValidateBug: (error: unknown) => void;
  /** Returns the additional rules of a built-in kind. Default none. */
  readonly strategyOf?: (model: ModelDescriptor) => KindStrategy | undefined;
  /** Returns the additional checks of a built-in kind whose objects may take long to check. Default none. */
  readonly judgeOf?: (model: ModelDescriptor) => KindJudge | undefined;
  /** Called after each page with the number of objects indexed so far. */
  readonly onProgress: (indexed: number) => void;
  /** Called for each stored object that cannot be read. */
  readonly onBroken: (entry: BrokenEntry) => void;
  /** Saves the records of objects for the next start. */
  readonly keeper: ValueKeeper;
  /** Reads and writes snapshots; undefined when the engine cannot have snapshot files. */
  readonly snapshots?: SnapshotKeeper | undefined;
  /** Returns a random number from 0 to below 1. */
  readonly random: () => number;
  /** Called with the indexes whose values differed when they were computed again for the same objects. */
  readonly onVarying: (indexes: readonly string[]) => void;
}

/**
 * Reads a kind's objects, builds its indexes, and makes the claims in the store equal to the values in the unique
 * indexes. Fills the history from the log, so that watches can resume after a restart. Calls `serve` in the turn of the
 * event loop in which memory has the kind's state at the current revision. From then on, the resource receives all
 * changes. Rejects with IndexBuildError when the objects do not fit into memory, when an object cannot be indexed or
 * converted, or when two objects have the same value in a unique index.
 */
export async function openResource(
  registration: Registration,
  parts: OpenParts,
  serve: (resource: Resource) => void,
): Promise<Resource> {
  const { store, log, revisions } = parts;
  const { descriptor: model, origin } = registration;
  const kindNumber = await store.numberOf(kindNameOf(model));
  const rules = rulesOf(model, { ...parts, origin });
  const convertStored = storedObjectConverter(rules);
  for (;;) {
    const place = log.begin(kindNumber, revisions.current);
    const cache = new KindCache(model, [...defaultIndexes(), ...model.indexes]);
    const known = { current: place.revision, changes: log.since(kindNumber, 0) };
    const generation = await loadKind({ cache, convertStored }, { ...parts, ...known, kindNumber });
    const resource = await createResource(registration, {
      ...parts,
      rules,
      convertStored,
      cache,
      kindNumber,
      floor: place.revision,
    });
    let replayed = place.revision;
    const restored = await restoreChanges(resource, log.since(kindNumber, 0));
    const replay = (upTo: number): void => {
      for (const change of log.since(kindNumber, replayed)) if (change.revision <= upTo) replayOnto(resource, change);
      replayed = upTo;
    };
    const isInSync = await syncUniqueClaims(resource, {
      store,
      revisions,
      replay,
      isLost: place.isLost,
      generation,
    });
    if (!isInSync || place.isLost()) continue;
    replay(revisions.current);
    // Other processes have written objects in another version meanwhile. The next iteration reads everything again, and
    // fetches the conversions.
    if (hasUnconverted(cache)) continue;
    restoreFeed(resource, log.take(kindNumber), restored);
    for (const entry of cache.broken.values()) parts.onBroken(entry);
    serve(resource);
    return resource;
  }
}

type RulesParts = Pick<OpenParts, 'onValidateBug' | 'strategyOf' | 'judgeOf'> & Pick<Registration, 'origin'>;

/** Returns the rules for writes of a model's objects. @throws as {@link compileSchema}. */
export function rulesOf(model: ModelDescriptor, parts: RulesParts): Rules {
  const { onValidateBug, strategyOf, judgeOf, origin } = parts;
  const judge = judgeOf?.(model);
  return {
    model,
    schema: compileSchema(model, origin),
    judgeExpressions: expressionJudge(model, origin),
    validateModel: modelValidator(model, onValidateBug),
    judge: judge === undefined ? undefined : judgedRules(model, judge),
    strategy: strategyOf?.(model),
  };
}

/** Returns the rules of each served version other than the storage version. @throws as {@link compileSchema}. */
export function otherRulesOf({ versions = [] }: ModelDescriptor, parts: RulesParts): readonly OtherVersion[] {
  return versions
    .filter(({ model }) => model.served !== false)
    .map((version) => ({ version, rules: rulesOf(version.model, parts) }));
}

interface Created extends OpenParts {
  readonly rules: Rules;
  readonly convertStored: ConvertStored;
  readonly cache: KindCache;
  readonly kindNumber: number;
  readonly floor: number;
}

async function createResource({ descriptor: model, owner, origin }: Registration, parts: Created): Promise<Resource> {
  const { store, rules, convertStored, cache, kindNumber, floor, onError, onUnreadable } = parts;
  const feed = new ChangeFeed({ floor, onError });
  return new Resource({
    rules,
    versions: otherRulesOf(model, { ...parts, origin }),
    convertStored,
    onUnreadable,
    owner,
    origin,
    kindNumber,
    cache,
    feed,
    history: new History(cache, feed),
    indexNumbers: await numberIndexes(cache, store),
    notes: notesOf(parts),
  });
}

function notesOf({ store, keeper, cache }: Created): EntryNotes | undefined {
  const fingerprint = store.passesNotes === true ? keeper.fingerprintOf(cache) : undefined;
  return fingerprint === undefined ? undefined : new EntryNotes(fingerprint);
}

/** Applies a change to an object, unless the object was read after the change. */
function replayOnto(resource: Resource, change: Change): void {
  const { cache, keyPrefix } = resource;
  const { op, revision } = change;
  const name = change.key.slice(keyPrefix.length);
  const present = cache.get(name) ?? cache.broken.get(name);
  if (present !== undefined && present.revision >= revision) return;
  if (op === 'delete') cache.remove(name);
  else putEntry(cache, lenientEntry(resource, change));
}

/**
 * Fills the history. If changes cannot be read, the history starts after the last of these changes, and a watch from an
 * earlier revision gets a 410.
 */
function restoreFeed(resource: Resource, { floor, changes }: KindLog, before: ReadonlyMap<number, FeedChange>): void {
  const restored = changes.map((change) => before.get(change.revision) ?? restore(resource, change));
  const broken = restored.findLastIndex(({ type, entry }) => type !== 'DELETED' && isBroken(entry));
  resource.feed.restore(restored[broken]?.revision ?? floor, restored.slice(broken + 1));
}

/**
 * Converts changes of the log to changes of the feed, in several turns of the event loop when there are many. The keys
 * of the result are revisions. A change counts as unreadable if a webhook fails to convert its object.
 */
async function restoreChanges(
  resource: Resource,
  changes: readonly Change[],
): Promise<ReadonlyMap<number, FeedChange>> {
  const restored = new Map<number, FeedChange>();
  if (resource.convertsByWebhook) await fetchConversions(resource, changes.flatMap(rowsOf)).catch(() => undefined);
  let bytes = 0;
  for (const change of changes) {
    restored.set(change.revision, restore(resource, change));
    bytes += change.data.length + (change.previous?.data.length ?? 0);
    if (bytes < bytesPerTurn) continue;
    bytes = 0;
    await nextTurn('background');
  }
  return restored;
}

/** Returns the states of the object after and before a change. */
function rowsOf(change: Change): readonly Row[] {
  const { key, previous } = change;
  return previous === undefined ? [change] : [change, { key, ...previous }];
}

/**
 * Converts a change of the log to a change of the feed. Takes the new state from memory if the change is the last one
 * of its object, as most are; otherwise decodes the new state from the log.
 */
function restore(resource: Resource, change: Change): FeedChange {
  const { cache, keyPrefix } = resource;
  const { op, key, revision } = change;
  const before = change.previous === undefined ? undefined : lenientEntry(resource, { key, ...change.previous });
  const present = op === 'delete' ? undefined : cache.get(key.slice(keyPrefix.length));
  const entry = present?.revision === revision ? present : lenientEntry(resource, change);
  // An update of an object whose former state cannot be read counts as the creation of the object.
  const isNew = op !== 'delete' && before !== undefined && isBroken(before);
  return feedChange(op, entry, isNew ? undefined : before);
}
