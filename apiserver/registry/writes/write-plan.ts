import { formatKey, generateName } from '@homeostat/controller-runtime/api';
import type { ApiError, ApiObject, ObjectKey } from '@homeostat/controller-runtime/api';
import type { MountedHooks } from '../../admission/call-hook.ts';
import type { BrokenEntry } from '../../index/broken-entry.ts';
import type { Entry } from '../../index/entry.ts';
import type { RequiredClaim } from '../../store/store.ts';
import { afterwards, runSteps } from '../../turns/steps.ts';
import type { Steps } from '../../turns/steps.ts';
import type { CreationRule } from '../kinds/live-claim.ts';
import { whenConverted } from '../kinds/pending-conversion.ts';
import type { Resource } from '../kinds/resource.ts';
import { brokenObject } from '../object/broken-object.ts';
import { decodeSteps } from '../object/decode-steps.ts';
import { decodeObject } from '../object/object-codec.ts';
import { alreadyExists, notFound } from '../object/resource-errors.ts';
import { formatTime } from '../object/object-codec.ts';
import type { GuardedWrite, RegistryParts, Reservation, WriteGuard, WriteReview } from './registry-parts.ts';
import { decideDelete } from '../rules/delete-rules.ts';
import type { NextState, Proposal } from '../rules/proposal.ts';
import type { CreateRequest, WriteRequest } from '../rules/write-request.ts';
import { decideCreate, decideUpdate } from '../rules/write-rules.ts';
import { admitWrite, failedHook, logHiddenFailure } from './admit-write.ts';
import { isLost, prepareWrite } from './prepare-write.ts';
import type { PreparedWrite, WriteContext } from './prepare-write.ts';
import type { CreateOptions, WriteOptions } from './write-options.ts';
import { resultOf } from './write-result.ts';
import type { WriteResult } from './write-result.ts';

/** The plan of a write, based on the objects in memory. */
export type WritePlan =
  | { readonly kind: 'refused'; readonly error: ApiError }
  | { readonly kind: 'unchanged'; readonly result: WriteResult }
  | {
      readonly kind: 'commit';
      /**
       * Checks the write again with the kind's guards, at the commit. Undefined when the kind has no guards, when the
       * server itself writes, and when an object that cannot be read is removed. @throws ApiError
       */
      readonly recheck?: (() => void) | undefined;
      readonly write: PreparedWrite;
      readonly warnings: readonly string[];
      /** Called when the commit has ended, or when there will be no commit. */
      readonly release?: Reservation['release'];
    };

/** A change of an existing object. */
export interface RequestedChange {
  readonly key: ObjectKey;
  readonly options: WriteOptions;
  readonly isLarge: boolean;
  readonly propose: Propose;
  /** The proposal for an object that cannot be read. Without it, such an object cannot be changed (500). */
  readonly proposeBroken?: Propose | undefined;
  /**
   * True when `proposeBroken` also applies to objects that may become readable: encrypted objects that another key may
   * decrypt, and objects that a webhook has not converted yet.
   */
  readonly takesLocked?: boolean;
  /** The kind in the version that the request names, if the change is made in the storage version instead. */
  readonly requested?: Resource;
}

type Propose = (stored: ApiObject, request: WriteRequest) => Steps<Proposal>;

/** The field manager of a write that names none. Kubernetes uses the same name. */
const unknownManager = 'unknown';

/**
 * The size in bytes above which a stored object is processed in steps, because to read such an object takes
 * milliseconds.
 */
const largeObject = 64 * 1024;

/**
 * Plans writes: applies the rules and the hooks of plugins, and computes the bytes and index values to commit. Stores
 * nothing.
 */
export class WritePlanner {
  readonly #parts: RegistryParts;
  readonly #draw = (base: string): string => generateName(base, this.#parts.random);
  readonly #kinds = new WeakMap<Resource, KindRules>();

  constructor(parts: RegistryParts) {
    this.#parts = parts;
  }

  /** Returns the request for a new object. The name comes from `key`, or from the body if there is no key. */
  createRequest(options: CreateOptions, isLong: boolean, key?: ObjectKey): CreateRequest {
    const at = { name: key?.name, namespace: key === undefined ? options.namespace : key.namespace };
    const identity = { uid: this.#parts.uuid(), draw: this.#draw, managedFields: undefined };
    // An object literal with a spread of the request would take 3 µs, forty times as long as `Object.assign`, even if
    // the fields of `identity` were added one by one afterwards.
    return Object.assign(this.#request(options, isLong, at), identity);
  }

  /** Returns the identity of a new object that replaces a stored object that cannot be read. */
  newIdentity(): Pick<CreateRequest, 'uid' | 'draw' | 'managedFields'> {
    return { uid: this.#parts.uuid(), draw: this.#draw, managedFields: undefined };
  }

  /** Returns the {@link WriteGuard}s that check the writes of a kind, and the rules that check its creations. */
  rulesOf(resource: Resource): KindRules {
    const known = this.#kinds.get(resource);
    if (known !== undefined) return known;
    const { guards = [], creationRules = [] } = this.#parts;
    const rules = {
      guards: guards.filter((guard) => guard.covers(resource)),
      ofCreation: creationRules.filter((rule) => rule.covers(resource)),
    };
    this.#kinds.set(resource, rules);
    return rules;
  }

  /**
   * Applies the rules to a proposal, or to the object that hooks returned; returns undefined when nothing changes.
   * @throws ApiError
   */
  decide({ rules }: Resource, proposal: Proposal, admitted: ApiObject = proposal.object): Next | Promise<Next> {
    const { verb, request } = proposal;
    if (verb === 'create') return runSteps(decideCreate(rules, proposal, admitted), request.isLong);
    if (verb === 'update') return runSteps(decideUpdate(rules, proposal, admitted), request.isLong);
    return decideDelete(rules, proposal);
  }

  /** Returns the reviewer of a write; undefined when no webhook or policy reviews the write. */
  reviewOf(resource: Resource, options: WriteOptions): WriteReview | undefined {
    const { review } = this.#parts;
    if (review?.isConfigured() !== true || options.isOwnUpkeep === true) return undefined;
    return review.covers(resource) ? review : undefined;
  }

  /**
   * Returns the hooks for a write. If the kind has no hooks, returns an empty list when a webhook or policy reviews the
   * write, and undefined otherwise.
   */
  hooksFor(resource: Resource, options: WriteOptions): readonly MountedHooks[] | undefined {
    const { hooks } = this.#parts;
    const own = hooks === undefined || hooks.isEmpty ? undefined : hooks.hooksOf(resource.keyPrefix);
    return own ?? (this.reviewOf(resource, options) === undefined ? undefined : noHooks);
  }

  /** Returns the next state after hooks, webhooks, policies and rules. @throws ApiError when one refuses the write */
  async decideAfter(hooks: readonly MountedHooks[], asked: Asked): Promise<Next> {
    const { resource, proposal, stored, options, warnings } = asked;
    const { dryRun = false, subresource } = options;
    const write = { verb: proposal.verb, resource, stored, dryRun, subresource, warnings };
    const context = { write, around: this.#parts };
    const { object, failure } = await admitWrite(proposal.object, hooks, context);
    if (failure === undefined) return this.#decideReviewed(object, asked);
    try {
      await this.decide(resource, proposal, object);
    } catch (error) {
      logHiddenFailure(failure, proposal.object, context);
      throw error;
    }
    throw failedHook(failure, proposal.object, context);
  }

  /**
   * Applies reviews and rules to an object. As in Kubernetes, the reviews that may change the object come before the
   * rules, and the reviews that may only refuse it come after them.
   */
  async #decideReviewed(object: ApiObject, asked: Asked): Promise<Next> {
    const { resource, requested = resource, proposal, stored, options, warnings } = asked;
    const review = this.reviewOf(resource, options);
    if (review === undefined) return this.decide(resource, proposal, object);
    const { verb } = proposal;
    const write = { verb, resource: requested, stored, options, warnings };
    const changed = await review.change(object, write);
    const next = await whenConverted(() => this.decide(resource, proposal, changed));
    await review.check(verb === 'delete' ? undefined : (next?.object ?? changed), write);
    return next;
  }

  /** Plans the creation of an object that rules and hooks have accepted. */
  planCreate(resource: Resource, next: NextState, { key, options, request }: Creation): WritePlan | Promise<WritePlan> {
    const { memory } = this.#parts;
    if (memory.isFull && options.isOwnUpkeep !== true) return { kind: 'refused', error: memory.refuse() };
    const { object } = next;
    const { name, namespace } = object.metadata;
    const { guards, ofCreation } = this.rulesOf(resource);
    const guarded = { user: options.user, next: object, stored: undefined };
    const recheck = guards.length === 0 ? undefined : guarding(guards, resource, guarded);
    const requires = ofCreation.length === 0 ? noClaims : ofCreation.map((rule) => rule.claimOf(resource, object));
    const present = resource.cache.get(key);
    if (present !== undefined || resource.cache.broken.has(key)) {
      return { kind: 'refused', error: alreadyExists(resource.model, name, present?.deletion !== undefined) };
    }
    const { isLong, warnings } = request;
    const { logger } = this.#parts;
    const context = { key, stored: undefined, leader: options.leader, requires, isLong, logger };
    const reserved = namespace === undefined ? undefined : this.#parts.reserve?.(resource, object);
    if (reserved !== undefined) return this.#planReserved(resource, next, { context, warnings, recheck, reserved });
    const write = prepareWrite(resource, next, context);
    if (write instanceof Promise) return write.then((made) => ({ kind: 'commit', write: made, warnings, recheck }));
    return { kind: 'commit', write, warnings, recheck };
  }

  async #planReserved(
    resource: Resource,
    next: NextState,
    { context, warnings, recheck, reserved }: Reserved,
  ): Promise<WritePlan> {
    const { requires, release } = await reserved;
    try {
      const claims = [...context.requires, ...requires];
      const write = await prepareWrite(resource, next, { ...context, requires: claims });
      return { kind: 'commit', write, warnings, recheck, release };
    } catch (error) {
      release(false);
      throw error;
    }
  }

  /**
   * Plans the change of a stored object. @throws ApiError NotFound when the object does not exist, InternalError when
   * it cannot be read; any ApiError of the rules, hooks and reviews
   */
  planChange(resource: Resource, change: RequestedChange): WritePlan | Promise<WritePlan> {
    const { key, options, proposeBroken } = change;
    const at = formatKey(key);
    const found = proposeBroken === undefined ? undefined : brokenAt(resource, at);
    const isKept = found?.isLocked === true || found?.isUnconverted === true;
    const broken = isKept && change.takesLocked !== true ? undefined : found;
    const entry = broken ?? this.stored(resource, key, at);
    const isLong = change.isLarge || entry.size > largeObject || resource.takesLong;
    const { logger } = this.#parts;
    const context = { key: at, stored: entry, leader: options.leader, requires: noClaims, isLong, logger };
    const request = this.#request(options, isLong, key);
    const shown = resource.show(entry);
    const stored = isLong ? runSteps(decodeSteps<ApiObject>(shown.bytes), true) : decodeObject(shown.bytes);
    const known = { resource, change, request, context, shown, isBroken: broken !== undefined };
    return afterwards(stored, (object) => this.#planChangeOf(object, known));
  }

  /** Plans the change of a stored object. `stored` is the parsed object. */
  #planChangeOf(stored: ApiObject, known: KnownChange): WritePlan | Promise<WritePlan> {
    const { resource, change, request, context, shown, isBroken } = known;
    const { options, requested, propose, proposeBroken = propose } = change;
    const { isLong, warnings } = request;
    const steps = isBroken ? proposeBroken : propose;
    const asked = { resource, requested, stored: isBroken ? undefined : context.stored, options, warnings };
    let isDeletion = false;
    const decided = afterwards(runSteps(steps(stored, request), isLong), (proposal) => {
      isDeletion = proposal.verb === 'delete';
      return this.#decideChange({ proposal, ...asked });
    });
    const { memory } = this.#parts;
    return afterwards(decided, (next) => {
      const recheck = this.#guarding(next, isBroken ? undefined : stored, known);
      const written = next === undefined ? undefined : prepareWrite(resource, next, context);
      return afterwards(written, (write): WritePlan => {
        if (write === undefined || isNothing(resource, write))
          return { kind: 'unchanged', result: { outcome: 'unchanged', warnings, ...resultOf(stored, shown) } };
        // While memory is full, deletions are not refused, because they free memory. The server's own maintenance is
        // not refused either, because it must continue.
        if (memory.isFull && !isDeletion && options.isOwnUpkeep !== true && isGrowing(write)) throw memory.refuse();
        return { kind: 'commit', write, warnings, recheck };
      });
    });
  }

  /**
   * Checks a change with the guards of its kind, and returns a function that repeats the check at the commit. When an
   * object is removed, the guards check its stored state. An object that cannot be read is removed without this check,
   * so that it can always be removed.
   */
  #guarding(next: Next, stored: ApiObject | undefined, { resource, change }: KnownChange): (() => void) | undefined {
    const { guards } = this.rulesOf(resource);
    const judged = next?.op === 'delete' ? stored : next?.object;
    if (judged === undefined || guards.length === 0) return undefined;
    return guarding(guards, resource, { user: change.options.user, next: judged, stored });
  }

  /** Returns the entry of a stored object. @throws ApiError NotFound, or InternalError when it cannot be read */
  stored(resource: Resource, key: ObjectKey, at: string = formatKey(key)): Entry {
    const entry = resource.cache.get(at);
    if (entry !== undefined) return entry;
    const broken = brokenAt(resource, at);
    if (broken === undefined) throw notFound(resource.model, key.name);
    const { problem } = broken;
    this.#parts.logger.warn({ key: resource.keyPrefix + at, problem }, 'a request needs an object that cannot be read');
    throw brokenObject(resource.model, broken);
  }

  #request(options: WriteOptions, isLong: boolean, { name, namespace }: Place): WriteRequest {
    const { warnings = [], fieldValidation = 'Warn', writer = 'user', fieldManager = unknownManager } = options;
    // The warnings of an earlier plan of the same write are removed.
    warnings.length = 0;
    const now = formatTime(this.#parts.clock.now());
    const { serviceDomain } = this.#parts;
    const { subresource } = options;
    return {
      name,
      namespace,
      fieldValidation,
      now,
      warnings,
      writer,
      serviceDomain,
      subresource,
      fieldManager,
      isLong,
    };
  }

  #decideChange(asked: Asked): Next | Promise<Next> {
    const { resource, proposal, stored } = asked;
    // Hooks are not called for the deletion of an object that cannot be read.
    const isBlind = proposal.verb === 'delete' && stored === undefined;
    const hooks = isBlind ? undefined : this.hooksFor(resource, asked.options);
    return hooks === undefined ? this.decide(resource, proposal) : this.decideAfter(hooks, asked);
  }
}

type Next = NextState | undefined;

/** The rules that check the writes of one kind against other objects. They do not change while the kind is served. */
export interface KindRules {
  readonly guards: readonly WriteGuard[];
  readonly ofCreation: readonly CreationRule[];
}

/** A change of an object, and the data that are known before the object is parsed. */
interface KnownChange {
  readonly resource: Resource;
  readonly change: RequestedChange;
  readonly request: WriteRequest;
  readonly context: WriteContext;
  /** The stored object in the version of the request. */
  readonly shown: Entry;
  /** True for an object that cannot be read. */
  readonly isBroken: boolean;
}

interface Place {
  readonly name: string | undefined;
  readonly namespace?: string | undefined;
}

/** A proposal, and the data that hooks need to check it. */
interface Asked {
  readonly resource: Resource;
  /** The kind in the version that the request names. Absent when this is the version of {@link resource}. */
  readonly requested?: Resource | undefined;
  readonly proposal: Proposal;
  /** The entry that is changed; undefined for a creation, and for an object that cannot be read. */
  readonly stored: Entry | undefined;
  readonly options: WriteOptions;
  readonly warnings: string[];
}

/** A creation that the quotas of its namespace already count. */
interface Reserved {
  readonly context: WriteContext;
  readonly warnings: readonly string[];
  readonly reserved: Promise<Reservation>;
  readonly recheck: (() => void) | undefined;
}

/** The data of a creation in addition to its object. */
interface Creation {
  readonly key: string;
  readonly options: WriteOptions;
  readonly request: CreateRequest;
}

const noClaims: readonly RequiredClaim[] = [];
const noHooks: readonly MountedHooks[] = [];

/**
 * The size in bytes up to which an updated object never counts as growing, so that a released Lease can be acquired
 * again while memory is full.
 */
const smallObject = 1024;

/** Returns true for an update that makes an object larger than before, and larger than {@link smallObject}. */
function isGrowing({ op, data, stored }: PreparedWrite): boolean {
  return op !== 'delete' && data.length > Math.max(smallObject, stored?.size ?? 0);
}

/**
 * Checks a write with the guards of its kind. Returns a function that repeats the check at the commit; undefined for a
 * write of the server itself.
 */
function guarding(guards: readonly WriteGuard[], resource: Resource, write: GuardedWrite): (() => void) | undefined {
  const check = (): void => guards.forEach((each) => each.check(resource, write));
  check();
  return write.user === undefined ? undefined : check;
}

function brokenAt({ cache }: Resource, key: string): BrokenEntry | undefined {
  return cache.broken.size === 0 ? undefined : cache.broken.get(key);
}

/** Returns true for an update that changes nothing in the storage version. A deletion always counts as a change. */
function isNothing({ view }: Resource, write: PreparedWrite): boolean {
  return view !== undefined && write.op === 'update' && isLost(write);
}
