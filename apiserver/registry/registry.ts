import {
  applyJsonPatch,
  applyMergePatch,
  formatKey,
  generateName,
  isApiError,
  isNotFound,
  keyOf,
} from '@homeostat/controller-runtime/api';
import type { ApiError, ApiObject, ObjectKey } from '@homeostat/controller-runtime/api';
import { isBroken } from '../index/broken-entry.ts';
import type { Entry } from '../index/entry.ts';
import type { BodySource } from '../decode/body-codec.ts';
import { storeErrorCodeOf } from '../store/store-error.ts';
import { afterwards, oneStep, runSteps } from '../turns/steps.ts';
import type { Steps } from '../turns/steps.ts';
import { admitWrite } from './writes/admit-write.ts';
import { brokenObject } from './object/broken-object.ts';
import { proposeBrokenDelete, proposeReplacement } from './rules/broken-rules.ts';
import { proposeDelete } from './rules/delete-rules.ts';
import { KeyedMutex } from './writes/keyed-mutex.ts';
import { decodeObject, withRevision } from './object/object-codec.ts';
import { lockOf, operationOf, refusalOf } from './writes/operation.ts';
import type { Refusal } from './writes/operation.ts';
import type { Proposals, Propose } from './rules/change-proposals.ts';
import { isLost, prepareWrite } from './writes/prepare-write.ts';
import type { Change, PreparedWrite } from './writes/prepare-write.ts';
import type { Proposal } from './rules/proposal.ts';
import type { RegistryOptions } from './registry-options.ts';
import type { Resource } from './kinds/resource.ts';
import { alreadyExists, conflict, formerLeader, notFound, storeUnavailable } from './object/resource-errors.ts';
import { formatTime } from './object/time.ts';
import { tracedEntries } from './writes/traced-entries.ts';
import { proposeApplied, proposeApply } from './rules/apply-rules.ts';
import { checkPreconditions, proposeCreate, proposePatch, proposeUpdate } from './rules/write-rules.ts';
import { emptyWarnings } from './rules/write-request.ts';
import type { ApplyOptions, CreateOptions, PatchBody, WriteOptions } from './writes/write-options.ts';
import type { CreateRequest, Decision, WriteRequest } from './rules/write-request.ts';
import { deletionAnswer, resultOf, storedAnswer, writtenAs } from './writes/write-result.ts';
import type { Stored, WriteResult, Written } from './writes/write-result.ts';

/** Names drawn for a generateName before giving up. */
const maxNameDraws = 8;

/** Decisions on a state that another replica changed meanwhile, before the client is asked to try again. */
const maxRaces = 16;

/** The field manager of writes that name none. Kubernetes' name. */
const unknownManager = 'unknown';

export type { RegistryOptions };

/** What a write comes to: a change to commit, or an answer without one. */
type Verdict =
  | { readonly kind: 'commit'; readonly change: PreparedWrite; readonly warnings: readonly string[] }
  | { readonly kind: 'answer'; readonly result: WriteResult }
  | { readonly kind: 'taken' };

interface Admission {
  readonly options: WriteOptions;
  readonly warnings: string[];
  /** Each step in a turn of its own. */
  readonly isLong: boolean;
  readonly stored?: Entry;
  readonly lock?: string;
}

/** Bytes from which on a stored object is worked on in steps: it takes milliseconds to read. */
const largeObject = 64 * 1024;

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
    if (resource.whenWritable() !== undefined) await resource.whenWritable();
    for (let draws = 1; ; draws += 1) {
      const warnings = emptyWarnings(options);
      let drawn = false;
      const request = this.#createRequest(options, warnings, { onDraw: () => (drawn = true) });
      const isLong = body.isLarge === true || resource.takesLong;
      const proposed = runSteps(proposeCreate(resource.rules, body, request), isLong);
      const proposal = proposed instanceof Promise ? await proposed : proposed;
      const result = await this.#create(resource, proposal, { options, warnings, isLong });
      if (result !== undefined) return result;
      if (!drawn || draws === maxNameDraws) throw this.#alreadyExists(resource, keyOf(proposal.object));
    }
  }

  /** Server-side apply: of an object that is absent, its creation; a subresource's object has to be there (404). */
  async apply(resource: Resource, key: ObjectKey, body: BodySource, options: ApplyOptions): Promise<WriteResult> {
    const { force = false, onContested } = options;
    const told = onContested === undefined ? {} : { onContested };
    const isLarge = body.isLarge === true || resource.takesLong;
    for (let race = 0; race < maxRaces; race += 1) {
      try {
        return await this.#change(
          resource,
          key,
          { ...options, isLarge },
          {
            propose: (stored, request) => proposeApply(resource.rules, stored, body, { force, ...request, ...told }),
          },
        );
      } catch (error) {
        if (!isNotFound(error) || options.subresource !== undefined) throw error;
      }
      const warnings = emptyWarnings(options);
      const request = this.#createRequest(options, warnings, { key });
      const proposal = await runSteps(proposeApplied(resource.rules, body, request), isLarge);
      const created = await this.#create(resource, proposal, { options, warnings, isLong: isLarge });
      if (created !== undefined) return created;
    }
    throw conflict(resource.model, key.name);
  }

  /** PUT of the object or of a subresource; 404 when absent, no upsert. */
  update(resource: Resource, key: ObjectKey, body: BodySource, options: WriteOptions): Promise<WriteResult> {
    const { rules } = resource;
    const replace: Propose = (stored, request) =>
      proposeReplacement(rules, stored, body, { ...request, uid: this.#options.uuid(), draw: (base) => base });
    return this.#change(
      resource,
      key,
      { ...options, isLarge: body.isLarge === true },
      {
        propose: (stored, request) => proposeUpdate(rules, stored, body, request),
        ...(options.subresource === undefined ? { ofBroken: replace } : {}),
      },
    );
  }

  patch(resource: Resource, key: ObjectKey, patch: PatchBody, options: WriteOptions): Promise<WriteResult> {
    const patched = (stored: ApiObject): unknown => {
      checkPreconditions(resource.model, stored, options.preconditions ?? {});
      return patch.type === 'json' ? applyJsonPatch(stored, patch.operations) : applyMergePatch(stored, patch.patch);
    };
    const propose: Propose = (stored, request) => proposePatch(resource.rules, stored, () => patched(stored), request);
    return this.#change(resource, key, { ...options, isLarge: patch.isLarge === true }, { propose });
  }

  async delete(resource: Resource, key: ObjectKey, options: WriteOptions): Promise<WriteResult> {
    const { storage } = resource;
    const { rules } = storage;
    const checked = (stored: ApiObject): ApiObject => {
      checkPreconditions(storage.model, stored, options.preconditions ?? {});
      return stored;
    };
    const written = await this.#change(storage, key, options, {
      propose: (stored, { now }) =>
        oneStep(() => proposeDelete(rules, checked(stored), { now, policy: options.propagationPolicy })),
      ofBroken: (stored, request) =>
        oneStep(() => proposeBrokenDelete(rules, checked(stored), { ...request, uid: this.#options.uuid() })),
    });
    // What is gone is not shown: it must go whether or not it can be converted.
    return written.outcome === 'removed' ? written : deletionAnswer(resource, written);
  }

  #stored(resource: Resource, key: ObjectKey): Entry {
    const { cache, model, keyPrefix } = resource;
    const entry = cache.get(formatKey(key));
    if (entry !== undefined) return entry;
    const broken = cache.broken.get(formatKey(key));
    if (broken === undefined) throw notFound(model, key.name);
    const { problem } = broken;
    this.#options.logger.warn(
      { key: keyPrefix + broken.key, problem },
      'a request needs an object that cannot be read',
    );
    throw brokenObject(model, broken);
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
    { options, warnings, isLong }: Pick<Admission, 'options' | 'warnings' | 'isLong'>,
  ): Promise<WriteResult | undefined> {
    const lock = lockOf(resource, formatKey(keyOf(proposal.object)));
    const admitted = this.#admit(resource, proposal, { options, warnings, isLong, lock });
    const object = admitted instanceof Promise ? await admitted : admitted;
    return this.#locks.run(lock, async () => {
      const created = await this.#commitNew(resource, object, { ...options, isLong });
      return created === undefined ? undefined : { outcome: 'created', warnings, ...created };
    });
  }

  async #commitNew(
    resource: Resource,
    object: ApiObject,
    { dryRun = false, leader, isLong }: WriteOptions & Pick<Admission, 'isLong'>,
  ): Promise<Stored | undefined> {
    const key = formatKey(keyOf(object));
    for (let race = 0; race < maxRaces; race += 1) {
      const verdict = await this.#decide(resource, dryRun, () => {
        const requires = this.#options.admit?.(resource, object) ?? [];
        if (resource.cache.get(key) !== undefined || resource.cache.broken.has(key)) return { kind: 'taken' };
        const prepared = runSteps(this.#prepare(resource, { op: 'create', object, leader, requires }), isLong);
        return afterwards(prepared, (change): Verdict => ({ kind: 'commit', change, warnings: [] }));
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

  /** Reads, decides, commits; decides again when another replica was faster. */
  async #change(
    resource: Resource,
    key: ObjectKey,
    options: WriteOptions & { readonly isLarge?: boolean },
    { propose, ofBroken }: Proposals,
  ): Promise<WriteResult> {
    const { dryRun = false, leader } = options;
    const decideNow = (): Verdict | Promise<Verdict> => {
      const warnings = emptyWarnings(options);
      const request = this.#request(options, warnings, key);
      const broken = ofBroken && resource.cache.broken.get(formatKey(key));
      const entry = broken ?? this.#stored(resource, key);
      const isLong = options.isLarge === true || entry.bytes.length > largeObject || resource.takesLong;
      const shown = resource.show(entry);
      const stored = decodeObject(shown.bytes);
      const unchanged = (): Verdict => ({
        kind: 'answer',
        result: { outcome: 'unchanged', warnings, ...resultOf(stored, shown) },
      });
      const conclude = (decision: Decision): Verdict | Promise<Verdict> => {
        if (decision.kind === 'none') return unchanged();
        const op = decision.kind === 'remove' ? 'delete' : 'update';
        const prepared = this.#prepare(resource, { op, object: decision.object, stored: entry, leader });
        return afterwards(runSteps(prepared, isLong), (change): Verdict => {
          // A removal is one, whatever is left of the object.
          const isNothing = op === 'update' && resource.view !== undefined && isLost(change);
          return isNothing ? unchanged() : { kind: 'commit', change, warnings };
        });
      };
      const proposed = runSteps((broken ? ofBroken : propose)(stored, request), isLong);
      const admission = { options, warnings, isLong, ...(broken ? {} : { stored: entry }) };
      const decided = afterwards(proposed, (proposal) => this.#admit(resource, proposal, admission));
      return afterwards(decided, conclude);
    };
    return this.#locks.run(lockOf(resource, formatKey(key)), async () => {
      if (resource.whenWritable() !== undefined) await resource.whenWritable();
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
  #admit<R>(resource: Resource, proposal: Proposal<R>, admission: Admission): R | Promise<R> {
    const { options, warnings, isLong, stored, lock } = admission;
    const hooks = this.#options.hooksOf?.(resource.keyPrefix);
    // Hooks cannot judge the deletion of an object that cannot be read.
    const isBlind = proposal.verb === 'delete' && stored === undefined;
    if (hooks === undefined || isBlind) return runSteps(proposal.conclude(proposal.object), isLong);
    const { dryRun = false, subresource } = options;
    // Plugins may be plain JavaScript.
    const warn = (message: unknown): void => void warnings.push(String(message));
    const write = { resource, dryRun, subresource, warn, isLong, ...(stored === undefined ? {} : { stored }) };
    const admit = async (): Promise<R> => admitWrite(proposal, hooks, { write, around: this.#options });
    return lock === undefined ? admit() : this.#locks.run(lock, admit);
  }

  #prepare(resource: Resource, change: Change): Steps<PreparedWrite> {
    return prepareWrite(resource, change, (err) => {
      const { kind, group } = resource.model;
      const bug = { kind, group, owner: resource.owner, index: err.index, err };
      this.#options.logger.warn(bug, 'index function failed');
    });
  }

  /** The stored object, or the conflict that requires a new decision. */
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
        storage.apply({ op: change.op, entry, previous: replacedBy(change) });
        onCommit(revision, data.length);
      });
      if (written !== undefined) return written;
      const refusal = refusalOf(resource, change, outcome);
      if (refusal === 'generation') await this.#options.onOldGeneration(storage);
      // Memory has every change before this commit by now, the one that released the claim included.
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

/** What cannot be read comes into being with its replacement, and goes with its deletion. */
function replacedBy({ op, stored }: PreparedWrite): Entry | undefined {
  return op !== 'delete' && stored !== undefined && isBroken(stored) ? undefined : stored;
}
