import { currentTraceparent, noteOrigin } from '@homeostat/controller-runtime/telemetry';
import { isBroken } from '../../index/broken-entry.ts';
import { createEntry } from '../../index/entry.ts';
import { storeErrorCodeOf } from '../../store/store-error.ts';
import type { Operation, Outcome } from '../../store/store.ts';
import type { Resource } from '../kinds/resource.ts';
import { withRevision } from '../object/object-codec.ts';
import { duplicateValue, formerLeader, storeUnavailable } from '../object/resource-errors.ts';
import type { RegistryOptions } from './registry-options.ts';
import type { PreparedWrite } from './prepare-write.ts';
import type { Written } from './write-result.ts';

/** The reason why a commit stored nothing: the write has to be planned again. */
export type Refusal = 'exists' | 'revision' | 'notFound' | 'generation' | 'requires';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Makes planned writes durable and then visible. */
export class Committer {
  readonly #options: RegistryOptions;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /**
   * Returns the stored object, or the reason why nothing was stored. Memory has the change by then.
   * @throws ApiError for a value that another object holds, a former leader, and a store that fails
   */
  async commit(resource: Resource, write: PreparedWrite): Promise<Written | Refusal> {
    const { storage } = resource;
    const operation = this.#operationOf(storage, write);
    const traceparent = currentTraceparent();
    let written: Written | undefined;
    storage.beginCommit();
    try {
      const outcome = await this.#options.commits.submit(operation, (revision) => {
        written = { bytes: withRevision(write.data, revision), revision };
        this.#changeMemory(storage, write, { bytes: written.bytes, revision, traceparent });
      });
      return written ?? (await this.#refusalOf(resource, write, outcome));
    } catch (error) {
      if (storeErrorCodeOf(error) === undefined) throw error;
      this.#options.logger.error({ err: error, key: operation.key }, 'commit failed');
      throw storeUnavailable(error);
    } finally {
      storage.endCommit();
    }
  }

  #operationOf(storage: Resource, { op, key, data, stored, values, requires, leader }: PreparedWrite): Operation {
    const unique = storage.claimChanges(stored?.values, op === 'delete' ? undefined : values);
    const required = leader === undefined ? requires : [...requires, this.#options.leaders.claimOf(leader)];
    const operation: Writable<Operation> = { op, key: storage.keyPrefix + key, kind: storage.kindNumber, data };
    // Assigned one by one: spreading conditional parts takes twice as long.
    if (stored !== undefined) operation.expect = stored.revision;
    if (unique !== undefined) operation.unique = unique;
    if (storage.generation !== undefined) operation.generation = storage.generation;
    if (required.length > 0) operation.requires = required;
    return operation;
  }

  /** Called in the order of revisions, between the commit and the response: objects, indexes and watchers follow. */
  #changeMemory(
    storage: Resource,
    { op, object, values, data, stored }: PreparedWrite,
    { bytes, revision, traceparent }: { bytes: Buffer; revision: number; traceparent: string | undefined },
  ): void {
    const { revisions, onCommit } = this.#options;
    // The change may already have been read back among the changes of others.
    if (revision <= revisions.current) return;
    const entry = createEntry(object, { bytes, revision, values });
    // Readers of the entry can find the trace that it comes from.
    if (traceparent !== undefined) noteOrigin(entry, traceparent);
    // An entry that cannot be read counts as absent: its replacement is a creation, except that its deletion deletes it.
    const isCreated = stored === undefined || (op !== 'delete' && isBroken(stored));
    storage.apply({ op, entry, previous: isCreated ? undefined : stored });
    onCommit(revision, data.length);
  }

  async #refusalOf(resource: Resource, { object, leader }: PreparedWrite, outcome: Outcome): Promise<Refusal> {
    if (!('conflict' in outcome)) throw new Error('a commit succeeded, but was not applied');
    const { model, storage } = resource;
    const { name } = object.metadata;
    if (outcome.conflict === 'unique') {
      throw duplicateValue(model, name, {
        index: resource.indexName(outcome.claim[0]),
        value: outcome.claim[1],
        holder: outcome.holder.slice(resource.keyPrefix.length),
      });
    }
    if (outcome.conflict === 'generation') await this.#options.onOldGeneration(storage);
    // Memory has every change before this commit by now, including the one that released the claim.
    if (outcome.conflict === 'requires' && leader !== undefined && !this.#options.leaders.isLeading(leader)) {
      throw formerLeader(model, name, leader);
    }
    return outcome.conflict;
  }
}
