import { currentTraceparent, noteOrigin } from '@homeostat/controller-runtime/telemetry';
import { isBroken } from '../../index/broken-entry.ts';
import { createEntry } from '../../index/create-entry.ts';
import { storeErrorCodeOf } from '../../store/store-error.ts';
import type { Submission } from '../../store/group-commit.ts';
import type { Operation, Outcome } from '../../store/store.ts';
import type { Resource } from '../kinds/resource.ts';
import { encodeObject, withRevision } from '../object/object-codec.ts';
import { duplicateValue, formerLeader, storeUnavailable } from '../object/resource-errors.ts';
import type { RegistryParts } from './registry-parts.ts';
import type { PreparedWrite } from './prepare-write.ts';
import { resultOf, writtenAs } from './write-result.ts';
import type { WriteResult, Written } from './write-result.ts';

/**
 * The reason why a commit stored nothing. For `exists`, the client gets the error AlreadyExists; for any other reason,
 * the write is planned again.
 */
export type Refusal = 'exists' | 'revision' | 'notFound' | 'generation' | 'requires';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Stores planned writes, and then makes them visible in memory. */
export class Committer {
  readonly #parts: RegistryParts;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
  }

  /**
   * Commits a write. Resolves, after memory has the change, with the stored object; or with the reason why nothing was
   * stored. @throws ApiError for a unique value that another object holds, for a write of a former leader, and when the
   * store fails
   */
  commit(resource: Resource, write: PreparedWrite): Promise<Written | Refusal> {
    return new Promise((resolve, reject) => {
      const commit = new Commit(this.#parts, { resource, write, resolve, reject });
      resource.storage.beginCommit();
      this.#parts.commits.begin(commit);
    });
  }
}

interface CommitParts {
  readonly resource: Resource;
  readonly write: PreparedWrite;
  readonly resolve: (written: Written | Refusal | Promise<Refusal>) => void;
  readonly reject: (error: unknown) => void;
}

/** One commit: the callbacks for the store, and the result. */
class Commit implements Submission {
  readonly operation: Operation;
  readonly #around: RegistryParts;
  readonly #parts: CommitParts;
  readonly #traceparent: string | undefined;
  #written: Written | undefined;

  constructor(around: RegistryParts, parts: CommitParts) {
    this.#around = around;
    this.#parts = parts;
    this.#traceparent = currentTraceparent();
    const { storage } = parts.resource;
    const { op, key, object, data, stored, values, requires, leader } = parts.write;
    const unique = storage.claimChanges(stored, op === 'delete' ? undefined : values);
    const required = leader === undefined ? requires : [...requires, around.leaders.claimOf(leader)];
    const operation: Writable<Operation> = { op, key: storage.keyPrefix + key, kind: storage.kindNumber, data };
    // The fields are assigned one by one, because spreads of conditional fields take twice as long.
    if (stored !== undefined) operation.expect = stored.revision;
    if (unique !== undefined) operation.unique = unique;
    if (storage.generation !== undefined) operation.generation = storage.generation;
    if (required.length > 0) operation.requires = required;
    if (storage.notes !== undefined) operation.note = storage.notes.write(object, values);
    this.operation = operation;
  }

  /**
   * Applies the committed change to objects, indexes and watches. The group commit calls this function in the order of
   * revisions, before the response.
   */
  apply(revision: number): void {
    const { resource, write } = this.#parts;
    const { op, key, object, values, data, stored } = write;
    const { revisions } = this.#around;
    const { notes, cache } = resource.storage;
    const { slabs } = cache;
    const bytes = withRevision(data, revision, slabs.allocate);
    this.#written = { bytes, revision };
    // The follower may already have applied this change, among the changes of other processes.
    if (revision <= revisions.current) return;
    const { note } = this.operation;
    const entry =
      note === undefined || notes === undefined
        ? createEntry(object, { bytes, revision, values, slabs })
        : notes.entryOf(note, { bytes, revision, slabs });
    // Remembers the trace of the write, so that work on the new entry can continue this trace.
    if (this.#traceparent !== undefined) noteOrigin(entry, this.#traceparent);
    // An object that could not be read counts as absent, so its replacement is a creation. Its deletion is still a
    // deletion.
    const isCreated = stored === undefined || (op !== 'delete' && isBroken(stored));
    resource.storage.apply({ op, key, entry, revision, previous: isCreated ? undefined : stored });
    revisions.advance(revision, data.length);
  }

  settle(outcome: Outcome): void {
    const { resource, resolve } = this.#parts;
    if (this.#written === undefined)
      return resolve(this.#refusalOf(outcome).finally(() => resource.storage.endCommit()));
    resource.storage.endCommit();
    resolve(this.#written);
  }

  fail(error: unknown): void {
    this.#parts.resource.storage.endCommit();
    if (storeErrorCodeOf(error) === undefined) return this.#parts.reject(error);
    this.#around.logger.error({ err: error, key: this.operation.key }, 'commit failed');
    this.#parts.reject(storeUnavailable(error));
  }

  async #refusalOf(outcome: Outcome): Promise<Refusal> {
    if (!('conflict' in outcome)) throw new Error('a write was not applied, although the store reported no conflict');
    const { resource, write } = this.#parts;
    const { object, leader } = write;
    const { model, storage } = resource;
    const { name } = object.metadata;
    if (outcome.conflict === 'unique') {
      throw duplicateValue(model, name, {
        index: resource.indexName(outcome.claim[0]),
        value: outcome.claim[1],
        holder: outcome.holder.slice(resource.keyPrefix.length),
      });
    }
    if (outcome.conflict === 'generation') await this.#around.onOldGeneration(storage);
    // A claim that the write requires is gone. Memory already has the change that released the claim, so memory shows
    // whether this was the claim of the leader's Lease. If it was another claim, the write is planned again.
    if (outcome.conflict === 'requires' && leader !== undefined && !this.#around.leaders.isLeading(leader)) {
      throw formerLeader(model, name, leader);
    }
    return outcome.conflict;
  }
}

const outcomes = { create: 'created', update: 'stored', delete: 'removed' } as const;

/** Returns the result of a commit or of a dry run: the object in the version of the request. */
export function storedResult(
  { op, object, answer }: PreparedWrite,
  written: Written,
  warnings: readonly string[],
): WriteResult {
  const outcome = outcomes[op];
  // The other fields come before the spread: after a spread, V8 would give each result its own hidden class.
  if (answer === undefined) {
    const { bytes, revision } = written;
    if (revision === undefined) return { outcome, warnings, bytes, object };
    return { outcome, warnings, bytes, object, resourceVersion: String(revision) };
  }
  return { outcome, warnings, ...resultOf(answer, writtenAs(encodeObject(answer), written.revision)) };
}
