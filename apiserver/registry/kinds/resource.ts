import { ApiError, apiVersionOf } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor, ModelVersion } from '@homeostat/controller-runtime/api';
import type { ChangeFeed } from '../../index/change-feed.ts';
import type { FeedChange } from '../../index/feed-change.ts';
import { compactSlabs } from '../../index/compact-slabs.ts';
import type { Entry, IndexValues } from '../../index/entry.ts';
import type { History } from '../../index/queries/history.ts';
import type { KindCache, UniqueValue } from '../../index/kind-cache.ts';
import type { SchemaOrigin } from '../../schema/judge/validator.ts';
import { keyPrefixOf } from '../../store/object-key.ts';
import type { Claim, KindClaims, Operation, RequiredClaim } from '../../store/store.ts';
import { nextTurn } from '../../turns/next-turn.ts';
import { runInTurns, type Steps } from '../../turns/steps.ts';
import { changesInVersion } from './other-versions.ts';
import type { EntryNotes } from './entry-notes.ts';
import { deprecationOf } from './kind-versions.ts';
import { resourceName } from '../object/resource-errors.ts';
import { storedObjectConverter, type ConvertStored } from './convert-stored-object.ts';
import { PendingConversion, whenConverted } from './pending-conversion.ts';
import { VersionView } from './version-view.ts';
import type { Rules } from '../rules/write-request.ts';

/** A served version other than the storage version. */
export interface OtherVersion {
  readonly version: ModelVersion;
  readonly rules: Rules;
}

/** The maximum number of objects that are converted to another version in one turn of the event loop. */
const shownPerTurn = 200;

/** The number of objects whose claims are collected in one step, which takes about a millisecond. */
const claimedPerStep = 2000;

export interface ResourceParts {
  /** The rules of the storage version. */
  readonly rules: Rules;
  /** The served versions of the kind except the storage version. */
  readonly versions: readonly OtherVersion[];
  readonly convertStored: ConvertStored;
  /** Called when a stored object cannot be converted to the requested version. */
  readonly onUnreadable: (error: unknown) => void;
  /** The owner of the model: a plugin's name, `service`, or `crd:<name>` for a CustomResourceDefinition. */
  readonly owner: string;
  /** The author of the schema. `code`: a plugin or the server. `client`: a client that has declared the kind. */
  readonly origin: SchemaOrigin;
  readonly kindNumber: number;
  readonly cache: KindCache;
  readonly feed: ChangeFeed;
  readonly history: History;
  /** The number that the store assigned to each unique index, by the name of the index. */
  readonly indexNumbers: ReadonlyMap<string, number>;
  /**
   * Writes and reads notes, with which a process sends index values of an object to the other processes; undefined when
   * the store passes on no notes, or when an index is a function without a `definition`.
   */
  readonly notes?: EntryNotes | undefined;
}

/**
 * A committed change. The key and the revision are also in the entry. They are repeated here, because to read them from
 * the entry takes longer.
 */
interface MadeChange {
  readonly op: Operation['op'];
  readonly key: string;
  readonly entry: Entry;
  readonly revision: number;
  readonly previous: Entry | undefined;
}

/** The additional data of a resource for a version other than the storage version. */
interface Other {
  readonly storage: Resource;
  readonly view: VersionView;
}

/**
 * A kind that is served: its rules, its objects in memory, and its latest changes (`feed`). Objects in memory, in
 * indexes and in `feed` have the storage version. For each other version there is another resource, which has its own
 * rules, and shares everything else with the resource of the storage version.
 */
export class Resource {
  /** The resource of the same kind in the storage version; usually this resource itself. */
  readonly storage: Resource;
  /** Converts objects between this version and the storage version; undefined when both are the same. */
  readonly view: VersionView | undefined;
  /** True for the storage version of a kind with other served versions, so that objects may have to be converted. */
  readonly hasVersions: boolean;
  readonly #versions: ReadonlyMap<string, Resource>;
  readonly apiVersion: string;
  readonly owner: string;
  readonly #origin: SchemaOrigin;
  readonly keyPrefix: string;
  readonly kindNumber: number;
  readonly cache: KindCache;
  readonly feed: ChangeFeed;
  readonly history: History;
  readonly notes: EntryNotes | undefined;
  /**
   * The generation of the unique indexes in the store. Each write requires it, because another process may have other
   * unique indexes. Undefined when no other process writes.
   */
  generation: number | undefined;
  readonly #indexNumbers: ReadonlyMap<string, number>;
  /** The rules for writes. Only {@link replaceRules} changes them, together with `model` and `takesLong`. */
  rules: Rules;
  model: ModelDescriptor;
  /** True when the check of an object may take long even if the object is small. */
  takesLong: boolean;
  #convertStored: ConvertStored;
  #commits = 0;
  #isClosed = false;
  #refusal: ApiError | undefined;
  readonly #whenQuiet: (() => void)[] = [];

  constructor(parts: ResourceParts, other?: Other) {
    this.storage = other?.storage ?? this;
    this.view = other?.view;
    this.#convertStored = parts.convertStored;
    this.#versions = new Map(
      parts.versions.map(({ version, rules }) => {
        const view = new VersionView(version, rules, parts.onUnreadable);
        return [rules.model.version, new Resource({ ...parts, rules, versions: [] }, { storage: this, view })];
      }),
    );
    this.hasVersions = this.#versions.size > 0;
    this.rules = this.#amongVersions(parts.rules);
    this.model = this.rules.model;
    this.takesLong = this.rules.judge !== undefined;
    this.apiVersion = apiVersionOf(parts.rules.model);
    this.owner = parts.owner;
    this.#origin = parts.origin;
    this.keyPrefix = keyPrefixOf(parts.rules.model);
    this.kindNumber = parts.kindNumber;
    this.cache = parts.cache;
    this.feed = parts.feed;
    this.history = parts.history;
    this.notes = parts.notes;
    this.#indexNumbers = parts.indexNumbers;
  }

  /** The warning that each response has when this version is deprecated. */
  get deprecation(): string | undefined {
    const { model } = this;
    return (model.deprecated ?? false) === false ? undefined : deprecationOf(model, this.storage.model);
  }

  /** True when a webhook converts objects of this kind between its versions, so that a read may have to wait. */
  get convertsByWebhook(): boolean {
    const { versions = [] } = this.storage.model;
    return this.#origin === 'client' && versions.some(({ toStorage }) => toStorage !== undefined);
  }

  get convertStored(): ConvertStored {
    return this.#convertStored;
  }

  /** Returns the versions that clients may request. Call it on the storage version. */
  served(): readonly Resource[] {
    return this.#all().filter(({ model }) => model.served !== false);
  }

  /**
   * Returns the resource for `version`; undefined if this is neither the storage version nor a served version. Call
   * this method on the resource of the storage version.
   */
  inVersion(version: string): Resource | undefined {
    return version === this.model.version ? this : this.#versions.get(version);
  }

  /**
   * Sets the rules for the next writes. Their models must have the same kind, plural, singular, scope, versions and
   * indexes as the former models. Stored objects stay unchanged.
   */
  replaceRules(rules: Rules, versions: readonly OtherVersion[] = []): void {
    this.rules = this.#amongVersions(rules);
    this.model = rules.model;
    this.takesLong = rules.judge !== undefined;
    this.#convertStored = storedObjectConverter(rules);
    for (const other of versions) {
      const resource = this.#versions.get(other.rules.model.version);
      resource?.replaceRules(other.rules);
      resource?.view?.replaceRules(other.rules, other.version);
    }
  }

  /** Returns a stored object in this version. @throws ApiError InternalError when the object cannot be converted. */
  show(entry: Entry): Entry {
    return this.view === undefined ? entry : this.view.show(entry);
  }

  /**
   * Returns a stored object in this version, like {@link show}, but first fetches the conversion if a webhook converts
   * the object.
   */
  showLater(entry: Entry): Entry | Promise<Entry> {
    const { view } = this;
    return view === undefined ? entry : whenConverted(() => view.show(entry));
  }

  /** Returns many stored objects in this version, in several turns of the event loop. */
  async showAll(entries: readonly Entry[]): Promise<readonly Entry[]> {
    const { view } = this;
    if (view === undefined) return entries;
    const shown: Entry[] = [];
    for (const [at, entry] of entries.entries()) {
      try {
        shown.push(view.show(entry));
      } catch (error) {
        if (!(error instanceof PendingConversion)) throw error;
        await view.fetch(entries.slice(at, at + shownPerTurn));
        shown.push(await this.showLater(entry));
      }
      if (shown.length % shownPerTurn === 0) await nextTurn();
    }
    return shown;
  }

  /** Applies a committed change to the objects and indexes, and then to watches, in one turn of the event loop. */
  apply({ op, key, entry, revision, previous }: MadeChange): void {
    if (op === 'delete') this.cache.remove(key);
    else this.cache.put(entry, key);
    this.feed.append(feedChange(op, entry, previous, revision));
  }

  /**
   * Resolves when the patterns of the schema are compiled; the first write waits for this. Returns undefined when they
   * are compiled already.
   */
  whenWritable(): Promise<void> | undefined {
    const own = this.rules.schema.whenReady?.();
    const stored = this.view === undefined ? undefined : this.storage.whenWritable();
    if (own === undefined || stored === undefined) return own ?? stored;
    return Promise.all([own, stored]).then(() => undefined);
  }

  /** Refuses every write from now on, with a reason. */
  refuseWrites(reason: ApiError): void {
    this.#refusal = reason;
  }

  /**
   * Called when a commit begins; {@link endCommit} must follow. @throws ApiError ServiceUnavailable when the kind is no
   * longer served, or the reason that was given to {@link refuseWrites}.
   */
  beginCommit(): void {
    if (this.#refusal !== undefined) throw this.#refusal;
    if (this.#isClosed) throw closedMeanwhile(this.model);
    this.#commits += 1;
  }

  /**
   * Throws when the resource was closed while a request waited, because a closed resource no longer receives changes.
   * After a reload of a plugin, the kind is served again, so the client should repeat the request. @throws ApiError
   * ServiceUnavailable
   */
  checkServed(): void {
    if (this.isClosed) throw closedMeanwhile(this.model);
  }

  endCommit(): void {
    this.#commits -= 1;
    if (this.#commits === 0) for (const quiet of this.#whenQuiet.splice(0)) quiet();
  }

  get isClosed(): boolean {
    return this.storage.#isClosed;
  }

  /** Refuses further commits. Resolves when the running commits have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.quiet();
  }

  /** Resolves when no commit is running. */
  async quiet(): Promise<void> {
    if (this.#commits > 0) await new Promise<void>((resolve) => this.#whenQuiet.push(resolve));
  }

  /** Drops the changes up to a revision from memory. */
  trim(revision: number): void {
    this.cache.slabs.release(this.feed.trim(revision));
    this.history.prune();
  }

  /** Frees the memory of objects that are no longer in use, in several turns of the event loop. */
  async compactMemory(): Promise<void> {
    const { cache, feed } = this;
    if (!cache.slabs.isSparse) return;
    const { table } = cache;
    const [formerStates, states] = [() => feed.formerStates(), () => feed.states()];
    await runInTurns(compactSlabs(cache.slabs, { table, formerStates, states }), 'upkeep');
  }

  /**
   * Returns the claims that a write adds and removes in the store; undefined when no unique value changes, so that the
   * commit changes no claims.
   */
  claimChanges(before: Pick<Entry, 'values'> | undefined, after: IndexValues | undefined): Operation['unique'] {
    if (this.#indexNumbers.size === 0) return undefined;
    const { add, remove } = this.cache.claimChanges(before?.values, after);
    if (add.length + remove.length === 0) return undefined;
    return { add: add.map((unique) => this.#claimOf(unique)), remove: remove.map((unique) => this.#claimOf(unique)) };
  }

  /** Collects the unique indexes, and the claims of all present objects. The store must have exactly these claims. */
  *claims(): Steps<Omit<KindClaims, 'revision'>> {
    const claims: KindClaims['claims'][number][] = [];
    let entries = 0;
    for (const entry of this.#indexNumbers.size === 0 ? [] : this.cache.entries()) {
      const key = this.keyPrefix + entry.key;
      for (const unique of this.cache.claims(entry.values)) claims.push({ claim: this.#claimOf(unique), key });
      entries += 1;
      if (entries % claimedPerStep === 0) yield;
    }
    return { indexes: this.#sortedNumbers(), claims };
  }

  /**
   * Returns the claim for a value in a unique index. A write that requires the claim succeeds only while an object has
   * this value.
   */
  requiredClaim(unique: UniqueValue): RequiredClaim {
    return { kind: this.kindNumber, claim: this.#claimOf(unique) };
  }

  /** Returns the name of the unique index that has this number in the store. */
  indexName(number: number): string {
    for (const [name, known] of this.#indexNumbers) if (known === number) return name;
    throw new Error(`no unique index of ${this.model.kind} has the number ${number}`);
  }

  /** Returns true when these are the numbers of all unique indexes of this kind. */
  hasIndexes(numbers: readonly number[]): boolean {
    return numbers.join() === this.#sortedNumbers().join();
  }

  #all(): readonly Resource[] {
    return [this, ...this.#versions.values()];
  }

  /**
   * Adds `changesIn` to the rules of a version if the kind has several versions. `changesIn` returns the fields that a
   * write changes, with the names that these fields have in a given version. These names are needed to take the changed
   * fields from other field managers: each manager owns fields under the names of the version in which it wrote.
   */
  #amongVersions(rules: Rules): Rules {
    if (this.view === undefined && this.#versions.size === 0) return rules;
    const { storage } = this;
    return {
      ...rules,
      changesIn: (apiVersion, states) => {
        const to = storage.#all().find((each) => each.apiVersion === apiVersion);
        return to === undefined ? undefined : changesInVersion({ from: this, to, storage: storage.rules }, states);
      },
    };
  }

  #sortedNumbers(): number[] {
    return [...this.#indexNumbers.values()].sort((a, b) => a - b);
  }

  #claimOf({ index, value }: UniqueValue): Claim {
    const number = this.#indexNumbers.get(index);
    if (number === undefined) throw new TypeError(`the index ${index} is not unique`);
    return [number, value];
  }
}

/** Returns a stored change of an object in the form in which watches and listeners receive it. */
export function feedChange(
  op: Operation['op'],
  entry: Entry,
  previous: Entry | undefined,
  revision: number = entry.revision,
): FeedChange {
  if (previous === undefined) return { type: 'ADDED', revision, entry };
  return { type: op === 'delete' ? 'DELETED' : 'MODIFIED', revision, entry, previous };
}

/** Returns the 503 for a kind that was closed during the request. */
function closedMeanwhile(model: Pick<ModelDescriptor, 'group' | 'plural'>): ApiError {
  const message = `${resourceName(model)} stopped being served during the request; try again`;
  return new ApiError('ServiceUnavailable', message, { retryAfterSeconds: 1 });
}

/** Returns the 404 for a kind that is no longer served. */
export function notServed(model: Pick<ModelDescriptor, 'group' | 'plural'>): ApiError {
  return new ApiError('NotFound', `${resourceName(model)} are no longer served`);
}

/** Returns the 503 for a kind that is registered, but not served yet. */
export function notReady(model: Pick<ModelDescriptor, 'group' | 'plural'>): ApiError {
  const message = `${resourceName(model)} is being indexed; try again`;
  return new ApiError('ServiceUnavailable', message, { retryAfterSeconds: 1 });
}
