import type { Logger } from '@homeostat/controller-runtime/api';
import { isBroken } from '../../index/broken-entry.ts';
import { entryWith } from '../../index/create-entry.ts';
import type { Entry } from '../../index/entry.ts';
import type { Change } from '../../store/store.ts';
import type { Revisions } from '../history/revisions.ts';
import type { Resource } from '../kinds/resource.ts';
import type { ResourceTable } from '../kinds/resource-table.ts';
import { lenientEntry } from '../kinds/stored-entry.ts';
import { decodeObject, encodeObject, withRevision } from '../object/object-codec.ts';
import type { UnservedLog } from '../kinds/unserved-log.ts';
import type { FollowedKind } from './reread.ts';

/** The parts of memory that a change of the store updates. */
export interface MemoryParts {
  readonly table: () => ResourceTable | undefined;
  readonly log: UnservedLog;
  /** A kind that is in memory, but not in the table of served kinds. */
  readonly hidden: FollowedKind;
  readonly revisions: Revisions;
  readonly logger: Logger;
}

/** Applies the next change of the store to memory, unless memory has it already. */
export function applyChange({ table, log, hidden, revisions, logger }: MemoryParts, change: Change): void {
  // A commit of this process may already have applied the change before it arrived here.
  if (change.revision <= revisions.current) return;
  const resource = table()?.ofNumber(change.kind);
  if (change.kind === hidden.kindNumber) hidden.apply(change);
  else if (resource === undefined) log.add(change);
  else if (!applyTo(resource, change, logger)) table()?.emit('unconverted', resource);
  revisions.advance(change.revision, change.data.length);
}

/**
 * Applies a change to memory. Returns false when a webhook has to convert the object first. Errors are only logged,
 * because one unreadable object must not stop the later changes of other objects.
 */
function applyTo(resource: Resource, change: Change, logger: Logger): boolean {
  const { op, key, revision } = change;
  try {
    const entry = resource.notes?.read(change, resource.cache.slabs) ?? entryOf(resource, change);
    if (isBroken(entry) && op !== 'delete') {
      logger.error({ key, revision, problem: entry.problem }, 'a change of another replica cannot be read');
      resource.cache.putBroken(entry);
      return entry.isUnconverted !== true;
    }
    const { key: at } = entry;
    const previous = op === 'create' ? undefined : presentOf(resource, { op, key: at });
    resource.apply({ op, key: at, entry, revision, previous });
  } catch (err) {
    logger.error({ err, key, revision }, 'could not update memory with a change of another replica');
  }
  return true;
}

function entryOf(resource: Resource, change: Change): Entry {
  const entry = lenientEntry(resource, change);
  if (!isBroken(entry) || entry.isUnconverted !== true) return entry;
  return rewrittenEntry(resource, change) ?? entry;
}

/**
 * Returns the entry of an object that was stored again unchanged, for example with a new encryption key; undefined when
 * the object has changed. The entry is made from the object in memory, so that no webhook has to convert the stored
 * bytes to another version.
 */
function rewrittenEntry({ cache, keyPrefix }: Resource, { key, data, previous, revision }: Change): Entry | undefined {
  const present = cache.get(key.slice(keyPrefix.length));
  if (present === undefined || present.revision !== previous?.revision) return undefined;
  if (Buffer.compare(data, previous.data) !== 0) return undefined;
  return entryWith(present, { bytes: withRevision(encodeObject(decodeObject(present.bytes)), revision), revision });
}

/**
 * Returns the entry that a change replaces. For the deletion of an object that could not be read, this is the broken
 * entry. For any other change of such an object, returns undefined, so that its update counts as a creation.
 */
function presentOf({ cache }: Resource, { op, key }: Pick<Change, 'op' | 'key'>): Entry | undefined {
  return cache.get(key) ?? (op === 'delete' ? cache.broken.get(key) : undefined);
}
