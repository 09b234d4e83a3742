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

/** The reason why a commit stored nothing: the write has to be planned again. */
export type Refusal = 'exists' | 'revision' | 'notFound' | 'generation' | 'requires';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Makes planned writes durable and then visible. */
export class Committer {
  readonly #parts: RegistryParts;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
  }

  /**
   * Returns the stored object, or the reason why nothing was stored. By then, memory has the change.
   * @throws ApiError for a value that another object holds, a former leader, and a store that fails
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

/** One commit: the callbacks of the store, and the result. */
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
    this.operation = operationOf(parts.resource.storage, parts.write, around);
  }

  /** Called in the order of revisions, between the commit and the response: objects, indexes and watchers follow. */
  apply(revision: number): void {
    const { resource, write } = this.#parts;
    const { op, key, object, values, data, stored } = write;
    const { revisions } = this.#around;
    const { notes, cache } = resource.storage;
    const { slabs } = cache;
    const bytes = withRevision(data, revision, slabs.allocate);
    this.#written = { bytes, revision };
    // The change may already have been read back among the changes of others.
    if (revision <= revisions.current) return;
    const { note } = this.operation;
    const entry =
      note === undefined || notes === undefined
        ? createEntry(object, { bytes, revision, values, slabs })
        : notes.entryOf(note, { bytes, revision, slabs });
    // Notes the trace of the write, so that readers of the entry can continue it.
    if (this.#traceparent !== undefined) noteOrigin(entry, this.#traceparent);
    // An entry that cannot be read counts as absent, so replacing it is a creation; deleting it is a deletion like any other.
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
    if (!('conflict' in outcome)) throw new Error('a commit succeeded, but was not applied');
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
    // By now, memory has every change before this commit, including the one that released the claim.
    if (outcome.conflict === 'requires' && leader !== undefined && !this.#around.leaders.isLeading(leader)) {
      throw formerLeader(model, name, leader);
    }
    return outcome.conflict;
  }
}

function operationOf(
  storage: Resource,
  { op, key, object, data, stored, values, requires, leader }: PreparedWrite,
  { leaders }: RegistryParts,
): Operation {
  const unique = storage.claimChanges(stored, op === 'delete' ? undefined : values);
  const required = leader === undefined ? requires : [...requires, leaders.claimOf(leader)];
  const operation: Writable<Operation> = { op, key: storage.keyPrefix + key, kind: storage.kindNumber, data };
  // Assigned one by one: spreading conditional parts takes twice as long.
  if (stored !== undefined) operation.expect = stored.revision;
  if (unique !== undefined) operation.unique = unique;
  if (storage.generation !== undefined) operation.generation = storage.generation;
  if (required.length > 0) operation.requires = required;
  if (storage.notes !== undefined) operation.note = storage.notes.write(object, values);
  return operation;
}

const outcomes = { create: 'created', update: 'stored', delete: 'removed' } as const;

/** The result of a committed write: the stored object, in the version of the request. */
export function storedResult(
  { op, object, answer }: PreparedWrite,
  written: Written,
  warnings: readonly string[],
): WriteResult {
  const outcome = outcomes[op];
  // Own fields come first: with a spread before them, each result would have a hidden class of its own.
  if (answer === undefined) {
    const { bytes, revision } = written;
    if (revision === undefined) return { outcome, warnings, bytes, object };
    return { outcome, warnings, bytes, object, resourceVersion: String(revision) };
  }
  return { outcome, warnings, ...resultOf(answer, writtenAs(encodeObject(answer), written.revision)) };
}
