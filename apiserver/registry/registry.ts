import {
  applyJsonPatch,
  applyMergePatch,
  formatKey,
  isApiError,
  isNotFound,
  keyOf,
  reasonOf,
} from '@homeostat/controller-runtime/api';
import type { ApiObject, ObjectKey } from '@homeostat/controller-runtime/api';
import type { Entry } from '../index/entry.ts';
import type { BodySource } from '../decode/body-codec.ts';
import { oneStep, runSteps } from '../turns/steps.ts';
import { proposeBrokenDelete, proposeReplacement } from './rules/broken-rules.ts';
import type { CreateProposal, DeleteProposal, NextState } from './rules/proposal.ts';
import { KeyedMutex } from './writes/keyed-mutex.ts';
import { Committer, storedResult } from './writes/committer.ts';
import type { Refusal } from './writes/committer.ts';
import type { RegistryParts, Reservation } from './writes/registry-parts.ts';
import { whenConverted } from './kinds/pending-conversion.ts';
import type { Resource } from './kinds/resource.ts';
import { alreadyExists, conflict } from './object/resource-errors.ts';
import { proposeApplied, proposeApply } from './rules/apply-rules.ts';
import { checkPreconditions, decideCreate, proposeCreate, proposePatch, proposeUpdate } from './rules/write-rules.ts';
import type { ApplyOptions, CreateOptions, PatchBody, WriteOptions } from './writes/write-options.ts';
import { WritePlanner } from './writes/write-plan.ts';
import type { RequestedChange, WritePlan } from './writes/write-plan.ts';
import { deletionAnswer, writtenAs } from './writes/write-result.ts';
import type { Written, WriteResult } from './writes/write-result.ts';

/** The maximum number of names that are tried for a generateName. */
const maxNameDraws = 8;

/**
 * The maximum number of times that a write is planned while other replicas change its object. After that, the client
 * gets a conflict.
 */
const maxRaces = 16;

type PlannedCommit = Extract<WritePlan, { readonly kind: 'commit' }>;

export type { RegistryParts };

/** A write to execute. It is planned again when the state on which its plan was based has changed. */
interface Work {
  readonly resource: Resource;
  readonly name: string;
  readonly dryRun: boolean | undefined;
  readonly options: WriteOptions;
  readonly plan: () => WritePlan | Promise<WritePlan>;
}

/**
 * Executes every write of every kind. A write is planned for the stored object ({@link WritePlanner}); one commit makes
 * it durable, and the kind's indexes and change feed in memory are updated before the response ({@link Committer}).
 * Methods reject only with ApiError; any other error is a bug.
 */
export class Registry {
  readonly #parts: RegistryParts;
  readonly #planner: WritePlanner;
  readonly #committer: Committer;
  readonly #locks = new KeyedMutex();
  /**
   * A counter of the writes that webhooks or policies review. The key of the lock of such a write contains the number
   * of the write, so that no other write has the same lock.
   */
  #reviewed = 0;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
    this.#planner = new WritePlanner(parts);
    this.#committer = new Committer(parts);
  }

  /** True while no write is running. */
  isIdle(): boolean {
    return this.#locks.size === 0;
  }

  /**
   * Returns a stored object, converted to the API version of `resource`. Without `resourceVersion`, the state is the
   * latest one; with a number, it is at least as new as this revision; with `0`, it is the state in memory
   * ({@link Revisions.reach}).
   */
  get(resource: Resource, key: ObjectKey, resourceVersion?: string): Entry | Promise<Entry> {
    const reached = this.#parts.revisions.reach(resourceVersion);
    if (reached !== undefined) return reached.then(() => this.#present(resource, key));
    return this.#present(resource, key);
  }

  #present(resource: Resource, key: ObjectKey): Entry | Promise<Entry> {
    resource.checkServed();
    return resource.showLater(this.#planner.stored(resource, key));
  }

  /**
   * Creates an object. The commit starts in the current turn of the event loop if nothing has to be awaited. `draws` is
   * the number of names that were generated for the object, including the current one.
   */
  create(resource: Resource, body: BodySource, options: CreateOptions, draws: number = 1): Promise<WriteResult> {
    const again = (): Promise<WriteResult> => this.create(resource, body, options, draws + 1);
    const retry = draws === maxNameDraws ? undefined : again;
    const ready = resource.whenWritable();
    if (ready !== undefined) return ready.then(() => this.create(resource, body, options, draws));
    const isLong = body.isLarge === true || resource.takesLong;
    try {
      const request = this.#planner.createRequest(options, isLong);
      const proposed = runSteps(proposeCreate(resource.rules, body, request), isLong);
      return proposed instanceof Promise
        ? proposed.then((proposal) => this.#createNamed(resource, proposal, options, retry))
        : this.#createNamed(resource, proposed, options, retry);
    } catch (error) {
      return rejected(error);
    }
  }

  /**
   * Executes a server-side apply. If the object does not exist, the apply creates it, but an apply to a subresource
   * fails (404).
   */
  async apply(resource: Resource, key: ObjectKey, body: BodySource, options: ApplyOptions): Promise<WriteResult> {
    const { rules } = resource;
    const { force = false, onContested } = options;
    const isLarge = body.isLarge === true || resource.takesLong;
    const propose: RequestedChange['propose'] = (stored, request) =>
      proposeApply(rules, stored, body, { force, onContested, ...request });
    const change = { key, options, isLarge, propose };
    if (options.subresource !== undefined) return this.#change(resource, change);
    for (let race = 0; race < maxRaces; race += 1) {
      const changed = await this.#changePresent(resource, change);
      if (changed !== undefined) return changed;
      options.checkCreate?.();
      const ready = resource.whenWritable();
      if (ready !== undefined) await ready;
      const request = this.#planner.createRequest(options, isLarge, key);
      const proposal = await runSteps(proposeApplied(rules, body, request), isLarge);
      try {
        return await this.#createNamed(resource, proposal, options);
      } catch (error) {
        if (reasonOf(error) !== 'AlreadyExists') throw error;
      }
    }
    throw conflict(resource.model, key.name);
  }

  /**
   * Changes an object; resolves with undefined when it does not exist. Checks in memory first, because an attempt to
   * change a missing object costs half as much as its creation.
   */
  async #changePresent(resource: Resource, change: RequestedChange): Promise<WriteResult | undefined> {
    if (this.#isSurelyAbsent(resource, change.key)) return undefined;
    try {
      return await this.#change(resource, change);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /**
   * Returns true only when the object certainly does not exist: false while memory may be behind, or a write of the
   * object is running. If it returned true for an existing object, a client that only changes the object would need the
   * permission to create it.
   */
  #isSurelyAbsent({ cache, keyPrefix }: Resource, key: ObjectKey): boolean {
    if (this.#parts.revisions.mayLag) return false;
    const at = formatKey(key);
    return cache.get(at) === undefined && !cache.broken.has(at) && !this.#locks.isHeld(keyPrefix + at);
  }

  /**
   * Replaces an object or a subresource (PUT). Rejects with 404 when the object does not exist: a PUT never creates it.
   */
  update(resource: Resource, key: ObjectKey, body: BodySource, options: WriteOptions): Promise<WriteResult> {
    const { rules } = resource;
    const propose: RequestedChange['propose'] = (stored, request) => proposeUpdate(rules, stored, body, request);
    const proposeBroken: RequestedChange['propose'] = (stored, request) =>
      proposeReplacement(rules, stored, body, { ...request, ...this.#planner.newIdentity() });
    return this.#change(resource, {
      key,
      options,
      isLarge: body.isLarge === true,
      propose,
      proposeBroken: options.subresource === undefined ? proposeBroken : undefined,
    });
  }

  patch(resource: Resource, key: ObjectKey, patch: PatchBody, options: WriteOptions): Promise<WriteResult> {
    const patched = (stored: ApiObject): unknown => {
      checkPreconditions(resource.model, stored, options.preconditions ?? {});
      return patch.type === 'json' ? applyJsonPatch(stored, patch.operations) : applyMergePatch(stored, patch.patch);
    };
    const propose: RequestedChange['propose'] = (stored, request) =>
      proposePatch(resource.rules, stored, () => patched(stored), request);
    return this.#change(resource, { key, options, isLarge: patch.isLarge === true, propose });
  }

  async delete(resource: Resource, key: ObjectKey, options: WriteOptions): Promise<WriteResult> {
    const { storage } = resource;
    const { rules } = storage;
    const { preconditions = {}, propagationPolicy: policy } = options;
    const checked = (stored: ApiObject): ApiObject => {
      checkPreconditions(storage.model, stored, preconditions);
      return stored;
    };
    const written = await this.#change(storage, {
      key,
      options,
      isLarge: false,
      propose: (stored, request) =>
        oneStep((): DeleteProposal => ({ verb: 'delete', request, object: checked(stored), policy })),
      proposeBroken: (stored, request) =>
        oneStep(() => proposeBrokenDelete(rules, checked(stored), { ...request, uid: this.#parts.uuid() })),
      takesLocked: true,
      requested: resource,
    });
    // A deleted object is not converted to the requested version, so that an object that cannot be converted can be
    // deleted.
    return written.outcome === 'removed' ? written : whenConverted(() => deletionAnswer(resource, written));
  }

  /**
   * Creates an object under the name in the proposal. When a generated name is already taken, calls `retry` if it is
   * given. @throws ApiError AlreadyExists when the name is taken in any other case
   */
  #createNamed(
    resource: Resource,
    proposal: CreateProposal,
    options: CreateOptions,
    retry?: () => Promise<WriteResult>,
  ): Promise<WriteResult> {
    const { request } = proposal;
    const key = formatKey(keyOf(proposal.object));
    const lock = resource.keyPrefix + key;
    const hooks = this.#planner.hooksFor(resource, options);
    const asked = { resource, proposal, stored: undefined, options, warnings: request.warnings };
    const accepted =
      hooks === undefined
        ? runSteps(decideCreate(resource.rules, proposal, proposal.object), request.isLong)
        : this.#locks
            .run(this.#lockFor(resource, key, options), () => this.#planner.decideAfter(hooks, asked))
            .then(nextOf);
    const commit = (next: NextState): Promise<WriteResult> => {
      const { name } = next.object.metadata;
      const plan = (): WritePlan | Promise<WritePlan> =>
        this.#planner.planCreate(resource, next, { key, options, request });
      return this.#locks.run(lock, () => this.#carryOut({ resource, name, dryRun: options.dryRun, options, plan }, 0));
    };
    const created = accepted instanceof Promise ? accepted.then(commit) : commit(accepted);
    if (!proposal.isNameDrawn || retry === undefined) return created;
    return created.catch((error: unknown) => {
      if (reasonOf(error) !== 'AlreadyExists') throw error;
      return retry();
    });
  }

  #change(resource: Resource, change: RequestedChange): Promise<WriteResult> {
    const { key, options } = change;
    const plan = (): WritePlan | Promise<WritePlan> => this.#planner.planChange(resource, change);
    const work = { resource, name: key.name, dryRun: options.dryRun, options, plan };
    return this.#locks.run(this.#lockFor(resource, formatKey(key), options), () => {
      const ready = resource.whenWritable();
      return ready === undefined ? this.#carryOut(work, 0) : ready.then(() => this.#carryOut(work, 0));
    });
  }

  /**
   * Returns the lock of a write: usually the lock of its object. A write that webhooks or policies review may take half
   * a minute, so it gets a separate lock. If the object is changed meanwhile, the commit of the reviewed write fails,
   * and this write is planned again.
   */
  #lockFor(resource: Resource, key: string, options: WriteOptions): string {
    const lock = resource.keyPrefix + key;
    if (this.#planner.reviewOf(resource, options) === undefined) return lock;
    this.#reviewed += 1;
    return `${lock}\n${this.#reviewed}`;
  }

  /**
   * Plans and commits a write, and plans it again when the object or a required claim has changed since the plan. The
   * commit starts in the current turn of the event loop if nothing has to be awaited.
   */
  #carryOut(work: Work, race: number): Promise<WriteResult> {
    if (race === maxRaces) return Promise.reject(conflict(work.resource.model, work.name));
    try {
      const planned = this.#parts.revisions.mayLag
        ? this.#planOnLatest(work)
        : work.resource.storage.hasVersions
          ? whenConverted(work.plan)
          : work.plan();
      return planned instanceof Promise
        ? planned.then((plan) => this.#execute(work, plan, race))
        : this.#execute(work, planned, race);
    } catch (error) {
      return rejected(error);
    }
  }

  #execute(work: Work, plan: WritePlan, race: number): Promise<WriteResult> {
    if (plan.kind === 'refused') return Promise.reject(plan.error);
    if (plan.kind === 'unchanged') return Promise.resolve(plan.result);
    const { resource, name, dryRun = false } = work;
    const { write, warnings, release } = plan;
    const committed = dryRun
      ? Promise.resolve(writtenAs(write.data, write.stored?.revision))
      : plan.recheck === undefined
        ? this.#committer.commit(resource, write)
        : this.#commitInTurn(plan, resource, race);
    return (release === undefined ? committed : releasing(committed, release)).then((written) => {
      if (written === 'exists')
        throw alreadyExists(resource.model, name, resource.cache.get(write.key)?.deletion !== undefined);
      if (typeof written === 'string') return this.#carryOut(work, race + 1);
      if (!dryRun && written.revision !== undefined) this.#parts.writers?.note(written.revision, work.options);
      return storedResult(write, written, warnings);
    });
  }

  /**
   * Commits a write that depends on other objects. Such writes are committed in sequence, and each is checked once more
   * before its commit.
   */
  #commitInTurn({ write, recheck }: PlannedCommit, resource: Resource, race: number): Promise<Written | Refusal> {
    const { turns } = this.#parts;
    if (turns === undefined) return this.#committer.commit(resource, write);
    return turns.run(race, async (claims) => {
      recheck?.();
      return this.#committer.commit(resource, { ...write, requires: [...write.requires, ...claims] });
    });
  }

  /**
   * Plans a write while memory may be behind the writes of other replicas. A plan with a commit can be used directly,
   * because the commit fails if the plan is based on an old state. When planning ends with no change, or with a
   * refusal whose reason is not Timeout or InternalError, the write is planned again once memory has all acknowledged
   * writes. A dry run, and a write that depends on other objects, are not planned before memory has these writes.
   */
  async #planOnLatest({ resource, dryRun = false, plan }: Work): Promise<WritePlan> {
    const isGuarded = this.#planner.rulesOf(resource).guards.length > 0;
    if (!dryRun && !isGuarded) {
      const first = await planOrRefusal(async () => whenConverted(plan));
      // These refusals usually come from a hook or a webhook that failed, which must not be called a second time.
      const isUndecided = first.kind === 'refused' && ['Timeout', 'InternalError'].includes(first.error.reason);
      if (first.kind === 'commit' || isUndecided) return first;
    }
    await this.#parts.revisions.reach(undefined);
    resource.checkServed();
    return whenConverted(plan);
  }
}

/** Returns the next state of a creation. It always exists, because a creation always changes something. */
function nextOf(next: NextState | undefined): NextState {
  if (next === undefined) throw new Error('the plan of a creation contains no object to store');
  return next;
}

/** Calls `release` of a quota reservation when the commit has ended. */
async function releasing(
  committed: Promise<Written | Refusal>,
  release: Reservation['release'],
): Promise<Written | Refusal> {
  let isCreated = false;
  try {
    const written = await committed;
    isCreated = typeof written !== 'string';
    return written;
  } finally {
    release(isCreated);
  }
}

function rejected(error: unknown): Promise<never> {
  return Promise.reject(error instanceof Error ? error : new Error(String(error)));
}

async function planOrRefusal(plan: Work['plan']): Promise<WritePlan> {
  try {
    return await plan();
  } catch (error) {
    if (!isApiError(error)) throw error;
    return { kind: 'refused', error };
  }
}
