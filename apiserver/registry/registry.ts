import {
  applyJsonPatch,
  applyMergePatch,
  formatKey,
  generateName,
  isApiError,
  isNotFound,
  keyOf,
} from '@homeostat/controller-runtime/api';
import type {
  ApiError,
  ApiObject,
  Clock,
  FieldCause,
  LeaderEpoch,
  Logger,
  ObjectKey,
} from '@homeostat/controller-runtime/api';
import type { Entry } from '../index/entry.ts';
import type { PropagationPolicy } from '../index/propagation.ts';
import type { MountedHooks } from '../admission/call-hook.ts';
import type { GroupCommit } from '../store/group-commit.ts';
import type { RequiredClaim } from '../store/store.ts';
import { storeErrorCodeOf } from '../store/store-error.ts';
import { admitWrite } from './admit-write.ts';
import { proposeDelete } from './delete-rules.ts';
import { KeyedMutex } from './keyed-mutex.ts';
import { decodeObject, withRevision } from './object-codec.ts';
import { lockOf, operationOf, refusalOf } from './operation.ts';
import type { Refusal } from './operation.ts';
import type { Writer } from './label-keys.ts';
import { isLost, prepareWrite } from './prepare-write.ts';
import type { Change, PreparedWrite } from './prepare-write.ts';
import type { Proposal } from './proposal.ts';
import type { Resource } from './resource.ts';
import { alreadyExists, conflict, formerLeader, notFound, storeUnavailable } from './resource-errors.ts';
import type { Revisions } from './revisions.ts';
import { formatTime } from './time.ts';
import { tracedEntries } from './traced-entries.ts';
import { proposeApplied, proposeApply } from './apply-rules.ts';
import { checkPreconditions, proposeCreate, proposePatch, proposeUpdate } from './write-rules.ts';
import type { CreateRequest, Decision, Subresource, WriteRequest } from './write-request.ts';
import { deletionAnswer, resultOf, storedAnswer, writtenAs } from './write-result.ts';
import type { Stored, WriteResult, Written } from './write-result.ts';

/** Names drawn for a generateName before giving up. */
const maxNameDraws = 8;

/** Decisions on a state that another replica changed meanwhile, before the client is asked to try again. */
const maxRaces = 16;

/** Of writes that say nothing of who writes. Kubernetes' name. */
const unknownManager = 'unknown';

export interface WriteOptions {
  readonly dryRun?: boolean;
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
  readonly subresource?: Subresource;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  /** Of a deletion. Default what the object's finalizers say, or Background. */
  readonly propagationPolicy?: PropagationPolicy;
  /** Decides which label keys may be written. Default `user`. */
  readonly writer?: Writer;
  /** Who writes, as metadata.managedFields has it. Default `unknown`. */
  readonly fieldManager?: string;
  /** As which leader: the commit is refused (409, FormerLeader) unless that holds its lease then. Default none. */
  readonly leader?: LeaderEpoch;
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** Take fields that others own instead of a 409. */
  readonly force?: boolean;
  /** Leave them as they are instead; told which. */
  readonly onContested?: (contested: readonly FieldCause[]) => void;
}

export interface CreateOptions extends WriteOptions {
  /** From the path; Namespaced kinds only. */
  readonly namespace?: string;
}

/** Gives the request's object, a fresh one at each call: the rules work in place, and a lost race decides anew. */
export type BodySource = () => unknown;

export type PatchBody =
  { readonly type: 'json'; readonly operations: unknown } | { readonly type: 'merge'; readonly patch: unknown };

export interface RegistryOptions {
  readonly commits: GroupCommit;
  readonly revisions: Revisions;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Uniform in [0, 1); for generated names. */
  readonly random: () => number;
  readonly uuid: () => string;
  readonly serviceDomain: string;
  /** Told of each change when it is visible: its revision, and the bytes that history keeps for it. */
  readonly onCommit: (revision: number, bytes: number) => void;
  /** Another process has set the kind's unique indexes anew. Resolves when the kind may be written to all the same. */
  readonly onOldGeneration: (resource: Resource) => Promise<void>;
  readonly leaders: LeaderRules;
  /**
   * Returns the claims that the creation of an object requires: of its namespace, and of what declares its kind. Throws
   * ApiError when the object may not be created where it wants to be. Default: each one may, and requires nothing.
   */
  readonly admit?: (resource: Resource, object: ApiObject) => readonly RequiredClaim[];
  /** Those that have a say in writes of the kind with this prefix of keys, in order. Default: none have. */
  readonly hooksOf?: (keyPrefix: string) => readonly MountedHooks[] | undefined;
}

export interface LeaderRules {
  /** The claim that a leader's lease has in its term. */
  readonly claimOf: (leader: LeaderEpoch) => RequiredClaim;
  /** Whether the lease is held in this term, as memory has it. */
  readonly isLeading: (leader: LeaderEpoch) => boolean;
}

/** What a write comes to: a change to commit, or an answer without one. */
type Verdict =
  | { readonly kind: 'commit'; readonly change: PreparedWrite; readonly warnings: readonly string[] }
  | { readonly kind: 'answer'; readonly result: WriteResult }
  | { readonly kind: 'taken' };

interface Admission {
  readonly options: WriteOptions;
  readonly warnings: string[];
  readonly stored?: Entry;
  readonly lock?: string;
}

/**
 * Every write of every kind goes through here: the rules decide on the stored object, one commit makes it durable, and
 * index and feed follow before the answer. Rejects with ApiError only; what else is thrown is a bug.
 */
export class Registry {
  readonly #options: RegistryOptions;
  readonly #locks = new KeyedMutex();

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /** True while no write is under way. */
  isIdle(): boolean {
    return this.#locks.size === 0;
  }

  /** The stored object in the resource's version: the latest, one that is not older than `resourceVersion`, or with `0` what is at hand ({@link Revisions.reach}). */
  async get(resource: Resource, key: ObjectKey, resourceVersion?: string): Promise<Entry> {
    const reached = this.#options.revisions.reach(resourceVersion);
    if (reached !== undefined) await reached;
    resource.checkServed();
    return resource.show(this.#stored(resource, key));
  }

  async create(resource: Resource, body: BodySource, options: CreateOptions): Promise<WriteResult> {
    for (let draws = 1; ; draws += 1) {
      const warnings: string[] = [];
      let drawn = false;
      const request = this.#createRequest(options, warnings, { onDraw: () => (drawn = true) });
      const proposal = proposeCreate(resource.rules, body(), request);
      const result = await this.#create(resource, proposal, { options, warnings });
      if (result !== undefined) return result;
      if (!drawn || draws === maxNameDraws) throw this.#alreadyExists(resource, keyOf(proposal.object));
    }
  }

  /** Server-side apply: of an object that is absent, its creation; a subresource's object has to be there (404). */
  async apply(resource: Resource, key: ObjectKey, body: BodySource, options: ApplyOptions): Promise<WriteResult> {
    const { force = false, onContested } = options;
    const told = onContested === undefined ? {} : { onContested };
    for (let race = 0; race < maxRaces; race += 1) {
      try {
        return await this.#change(resource, key, options, (stored, request) =>
          proposeApply(resource.rules, stored, body(), { force, ...request, ...told }),
        );
      } catch (error) {
        if (!isNotFound(error) || options.subresource !== undefined) throw error;
      }
      const warnings: string[] = [];
      const request = this.#createRequest(options, warnings, { key });
      const proposal = proposeApplied(resource.rules, body(), request);
      const created = await this.#create(resource, proposal, { options, warnings });
      if (created !== undefined) return created;
    }
    throw conflict(resource.model, key.name);
  }

  /** PUT of the object or of a subresource; 404 when absent, no upsert. */
  update(resource: Resource, key: ObjectKey, body: BodySource, options: WriteOptions): Promise<WriteResult> {
    return this.#change(resource, key, options, (stored, request) =>
      proposeUpdate(resource.rules, stored, body(), request),
    );
  }

  patch(resource: Resource, key: ObjectKey, patch: PatchBody, options: WriteOptions): Promise<WriteResult> {
    return this.#change(resource, key, options, (stored, request) => {
      const patched =
        patch.type === 'json' ? applyJsonPatch(stored, patch.operations) : applyMergePatch(stored, patch.patch);
      return proposePatch(resource.rules, stored, patched, request);
    });
  }

  async delete(resource: Resource, key: ObjectKey, options: WriteOptions): Promise<WriteResult> {
    const { storage } = resource;
    const written = await this.#change(storage, key, options, (stored, request) => {
      checkPreconditions(storage.model, stored, options.preconditions ?? {});
      return proposeDelete(storage.rules, stored, { now: request.now, policy: options.propagationPolicy });
    });
    // What is gone is not shown: it must go whether or not it can be converted.
    return written.outcome === 'removed' ? written : deletionAnswer(resource, written);
  }

  #stored(resource: Resource, key: ObjectKey): Entry {
    const entry = resource.cache.get(formatKey(key));
    if (entry === undefined) throw notFound(resource.model, key.name);
    return entry;
  }

  #request(options: WriteOptions, warnings: string[], key?: ObjectKey): WriteRequest {
    return {
      fieldValidation: options.fieldValidation ?? 'Warn',
      now: formatTime(this.#options.clock.now()),
      warn: (message) => warnings.push(message),
      writer: options.writer ?? 'user',
      serviceDomain: this.#options.serviceDomain,
      fieldManager: options.fieldManager ?? unknownManager,
      ...(options.subresource === undefined ? {} : { subresource: options.subresource }),
      ...key,
    };
  }

  #createRequest(
    options: CreateOptions,
    warnings: string[],
    { key, onDraw }: { readonly key?: ObjectKey; readonly onDraw?: () => void },
  ): CreateRequest {
    const { namespace } = options;
    return {
      uid: this.#options.uuid(),
      draw: (base) => {
        onDraw?.();
        return generateName(base, this.#options.random);
      },
      ...this.#request(options, warnings, key),
      ...(namespace === undefined ? {} : { namespace }),
    };
  }

  /** undefined: the name is taken. */
  async #create(
    resource: Resource,
    proposal: Proposal<ApiObject>,
    { options, warnings }: { readonly options: WriteOptions; readonly warnings: string[] },
  ): Promise<WriteResult | undefined> {
    const lock = lockOf(resource, formatKey(keyOf(proposal.object)));
    const admitted = this.#admit(resource, proposal, { options, warnings, lock });
    const object = admitted instanceof Promise ? await admitted : admitted;
    return this.#locks.run(lock, async () => {
      const created = await this.#commitNew(resource, object, options);
      return created === undefined ? undefined : { outcome: 'created', warnings, ...created };
    });
  }

  async #commitNew(resource: Resource, object: ApiObject, options: WriteOptions): Promise<Stored | undefined> {
    const { dryRun = false, leader } = options;
    const key = formatKey(keyOf(object));
    for (let race = 0; race < maxRaces; race += 1) {
      const verdict = await this.#decide(resource, dryRun, (): Verdict => {
        const requires = this.#options.admit?.(resource, object) ?? [];
        if (resource.cache.get(key) !== undefined) return { kind: 'taken' };
        const change = this.#prepare(resource, { op: 'create', object, leader, requires });
        return { kind: 'commit', change, warnings: [] };
      });
      if (verdict.kind !== 'commit') return undefined;
      const written = await this.#commit(resource, verdict.change, dryRun);
      if (typeof written !== 'string') return storedAnswer(verdict.change, written);
      if (written !== 'generation' && written !== 'requires') return undefined;
    }
    throw conflict(resource.model, object.metadata.name);
  }

  #alreadyExists(resource: Resource, key: ObjectKey): ApiError {
    const entry = resource.cache.get(formatKey(key));
    return alreadyExists(resource.model, key.name, entry?.deletion !== undefined);
  }

  /** Read, decide, commit; decided anew when another replica was faster. */
  async #change(
    resource: Resource,
    key: ObjectKey,
    options: WriteOptions,
    propose: (stored: ApiObject, request: WriteRequest) => Proposal<Decision>,
  ): Promise<WriteResult> {
    const { dryRun = false, leader } = options;
    const decideNow = (): Verdict | Promise<Verdict> => {
      const warnings: string[] = [];
      const entry = this.#stored(resource, key);
      const shown = resource.show(entry);
      const stored = decodeObject(shown.bytes);
      const unchanged = (): Verdict => ({
        kind: 'answer',
        result: { outcome: 'unchanged', warnings, ...resultOf(stored, shown) },
      });
      const conclude = (decision: Decision): Verdict => {
        if (decision.kind === 'none') return unchanged();
        const op = decision.kind === 'remove' ? 'delete' : 'update';
        const change = this.#prepare(resource, { op, object: decision.object, stored: entry, leader });
        // A removal is one, whatever is left of the object.
        const isNothing = op === 'update' && resource.view !== undefined && isLost(change);
        return isNothing ? unchanged() : { kind: 'commit', change, warnings };
      };
      const proposal = propose(stored, this.#request(options, warnings, key));
      const decided = this.#admit(resource, proposal, { options, warnings, stored: entry });
      return decided instanceof Promise ? decided.then(conclude) : conclude(decided);
    };
    return this.#locks.run(lockOf(resource, formatKey(key)), async () => {
      for (let race = 0; race < maxRaces; race += 1) {
        const verdict = await this.#decide(resource, dryRun, decideNow);
        if (verdict.kind === 'answer') return verdict.result;
        if (verdict.kind === 'taken') break;
        const { change, warnings } = verdict;
        const written = await this.#commit(resource, change, dryRun);
        if (typeof written === 'string') continue;
        const outcome = change.op === 'delete' ? 'removed' : 'stored';
        return { outcome, warnings, ...storedAnswer(change, written) };
      }
      throw conflict(resource.model, key.name);
    });
  }

  /**
   * A commit finds out by itself that it was decided on a state of the past. What is answered without one, an error
   * included, is not: where memory may be behind, it is decided again on all that is acknowledged.
   */
  async #decide(resource: Resource, dryRun: boolean, decide: () => Verdict | Promise<Verdict>): Promise<Verdict> {
    const { revisions } = this.#options;
    if (!revisions.mayLag) return decide();
    if (!dryRun) {
      try {
        const verdict = await decide();
        if (verdict.kind === 'commit') return verdict;
      } catch (error) {
        // A hook that does not answer has not decided on anything.
        if (!isApiError(error) || error.reason === 'Timeout') throw error;
      }
    }
    await revisions.reach(undefined);
    resource.checkServed();
    return decide();
  }

  /** What becomes of a proposal; at once where no hooks have a say in it. Others wait, where a lock is given. */
  #admit<R>(resource: Resource, proposal: Proposal<R>, { options, warnings, stored, lock }: Admission): R | Promise<R> {
    const hooks = this.#options.hooksOf?.(resource.keyPrefix);
    if (hooks === undefined) return proposal.conclude(proposal.object);
    const { dryRun = false, subresource } = options;
    // Plugins may be plain JavaScript.
    const warn = (message: unknown): void => void warnings.push(String(message));
    const write = { resource, dryRun, subresource, warn, ...(stored === undefined ? {} : { stored }) };
    const admit = async (): Promise<R> => admitWrite(proposal, hooks, { write, around: this.#options });
    return lock === undefined ? admit() : this.#locks.run(lock, admit);
  }

  #prepare(resource: Resource, change: Change): PreparedWrite {
    return prepareWrite(resource, change, (err) => {
      const { kind, group } = resource.model;
      const bug = { kind, group, owner: resource.owner, index: err.index, err };
      this.#options.logger.warn(bug, 'index function failed');
    });
  }

  /** What was stored, or the conflict that has to be decided anew. */
  async #commit(resource: Resource, change: PreparedWrite, dryRun: boolean): Promise<Written | Refusal> {
    const { data, values } = change;
    if (dryRun) return writtenAs(data, change.stored?.revision);
    const { commits, revisions, onCommit, leaders } = this.#options;
    const { storage } = resource;
    const operation = operationOf(storage, change, leaders.claimOf);
    const createEntry = tracedEntries();
    let written: Written | undefined;
    storage.beginCommit();
    try {
      const outcome = await commits.submit(operation, (revision) => {
        written = { bytes: withRevision(data, revision), revision };
        // It may have been read back already, among the changes of others.
        if (revision <= revisions.current) return;
        const entry = createEntry(change.object, { bytes: written.bytes, revision, values });
        storage.apply({ op: change.op, entry, previous: change.stored });
        onCommit(revision, data.length);
      });
      if (written !== undefined) return written;
      const refusal = refusalOf(resource, change, outcome);
      if (refusal === 'generation') await this.#options.onOldGeneration(storage);
      // Memory has what came before the commit, and so what took the claim away.
      if (refusal === 'requires' && change.leader !== undefined && !leaders.isLeading(change.leader)) {
        throw formerLeader(resource.model, change.object.metadata.name, change.leader);
      }
      return refusal;
    } catch (error) {
      if (storeErrorCodeOf(error) === undefined) throw error;
      this.#options.logger.error({ err: error, key: operation.key }, 'commit failed');
      throw storeUnavailable(error);
    } finally {
      storage.endCommit();
    }
  }
}
