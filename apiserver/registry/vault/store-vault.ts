import { ApiError } from '@homeostat/controller-runtime/api';
import type { Logger } from '@homeostat/controller-runtime/api';
import type { Revisions } from '../history/revisions.ts';
import { KeyedMutex } from '../writes/keyed-mutex.ts';
import type { GroupCommit } from '../../store/group-commit.ts';
import { storeUnavailable } from '../object/resource-errors.ts';
import { kindNameOf } from '../../store/object-key.ts';
import { storeErrorCodeOf } from '../../store/store-error.ts';
import type { Change, Operation, RequiredClaim, Row, Store } from '../../store/store.ts';
import { vaultKind } from '../../vault/vault-kind.ts';
import { checkVaultName, decodeVaultValue, encodeVaultValue, vaultKeyOf } from './vault-value.ts';
import type { UnreadableValue, VaultValue } from './vault-value.ts';
import type { Vault } from '../../vault/vault.ts';

/** A stored value, with the revision of its object. */
interface Secret extends VaultValue {
  readonly revision: number;
}

/** A stored value that cannot be read. Its name is also unknown. */
interface Locked extends UnreadableValue {
  readonly revision: number;
}

/** The parts of a server that the vault needs for writes. */
export interface VaultWriting {
  readonly commits: Pick<GroupCommit, 'submit'>;
  readonly revisions: Pick<Revisions, 'current' | 'reach' | 'advance'>;
  readonly logger: Logger;
}

/**
 * The vault in the database. All values are also in memory. Each value is an object of a kind without a model. The key
 * of a value is a digest of its name, because keys are not encrypted, and the name would reveal which user has a
 * password.
 */
export class StoreVault implements Vault {
  readonly kindNumber: number;
  /** The number of the index in which {@link hold} claims values. */
  readonly #holders: number;
  /**
   * The claims that {@link hold} has used, by the claimed id. The same id always has the same claim object, because
   * stores compare the claims of a batch by identity.
   */
  readonly #claims = new Map<string, RequiredClaim>();
  readonly #secrets = new Map<string, Secret>();
  readonly #locked = new Map<string, Locked>();
  /**
   * The name of each value, by its key in the store, which is a digest of the name. When a value is deleted or can no
   * longer be read, the name for the listeners comes from this map.
   */
  readonly #names = new Map<string, string>();
  readonly #listeners = new Set<(name: string) => void>();
  readonly #locks = new KeyedMutex();
  #writing: VaultWriting | undefined;

  private constructor(kindNumber: number, holders: number) {
    this.kindNumber = kindNumber;
    this.#holders = holders;
  }

  /**
   * Reads all values of a store. {@link apply} must then receive all later changes, in order; it ignores older changes.
   */
  static async read(store: Store): Promise<StoreVault> {
    const kind = kindNameOf(vaultKind);
    const vault = new StoreVault(await store.numberOf(kind), await store.numberOf(`index:${kind}/holder`));
    for await (const page of store.scan(vault.kindNumber)) for (const row of page) vault.#set(row);
    return vault;
  }

  /** Connects the vault with the parts that it needs for writes. Call this once, before the first write. */
  connect(writing: VaultWriting): void {
    this.#writing = writing;
    for (const [key, { problem }] of this.#locked)
      writing.logger.error({ key, problem }, 'a secret of the server cannot be read');
  }

  get(name: string): unknown {
    const secret = this.#secrets.get(vaultKeyOf(name));
    if (secret !== undefined) return secret.value;
    this.#checkReadable(name);
    return undefined;
  }

  entries(prefix: string): ReadonlyMap<string, unknown> {
    const found = new Map<string, unknown>();
    for (const { name, value } of this.#secrets.values()) if (name.startsWith(prefix)) found.set(name, value);
    return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  async put(
    name: string,
    value: unknown,
    { ifAbsent = false }: { readonly ifAbsent?: boolean } = {},
  ): Promise<boolean> {
    checkVaultName(name);
    const data = encodeVaultValue(name, value);
    const key = vaultKeyOf(name);
    return this.#locks.run(key, async () => {
      for (;;) {
        if (ifAbsent) await this.reach();
        this.#checkReadable(name);
        const stored = this.#secrets.get(key);
        if (ifAbsent && stored !== undefined) return false;
        const operation = { key, kind: this.kindNumber, data };
        const { revision: expect } = stored ?? {};
        const isDone = await this.#submit(
          expect === undefined ? { op: 'create', ...operation } : { op: 'update', expect, ...operation },
        );
        if (isDone) return true;
      }
    });
  }

  async delete(name: string): Promise<void> {
    const key = vaultKeyOf(name);
    await this.#locks.run(key, async () => {
      for (;;) {
        await this.reach();
        const stored = this.#secrets.get(key) ?? this.#locked.get(key);
        if (stored === undefined) return;
        // The log does not keep the last state of a deleted value, because it is not needed.
        const operation = {
          op: 'delete',
          key,
          kind: this.kindNumber,
          expect: stored.revision,
          data: encodeVaultValue(name, null),
        } as const;
        if (await this.#submit(operation)) return;
      }
    });
  }

  /**
   * Stores the id of a process under a name, unless this id is already stored. Resolves with a claim that commits can
   * require. The claim is removed when another process stores its own id.
   */
  async hold(name: string, id: string): Promise<RequiredClaim> {
    const key = vaultKeyOf(name);
    const data = encodeVaultValue(name, id);
    return this.#locks.run(key, async () => {
      for (;;) {
        this.#checkReadable(name);
        const stored = this.#secrets.get(key);
        if (stored?.value === id) return this.#claimOf(id);
        const remove = stored === undefined ? [] : [this.#claimOf(String(stored.value)).claim];
        const unique = { add: [this.#claimOf(id).claim], remove };
        const operation = { key, kind: this.kindNumber, data, unique };
        const { revision: expect } = stored ?? {};
        // If the write is refused, another process has meanwhile stored its id under `name`. Memory then has the id of
        // the other process, and the next round of this loop replaces it with `id`.
        await this.#submit(
          expect === undefined ? { op: 'create', ...operation } : { op: 'update', expect, ...operation },
        );
      }
    });
  }

  #claimOf(value: string): RequiredClaim {
    const known = this.#claims.get(value);
    if (known !== undefined) return known;
    const claim: RequiredClaim = { kind: this.kindNumber, claim: [this.#holders, value] };
    this.#claims.set(value, claim);
    return claim;
  }

  onChange(listener: (name: string) => void): () => void {
    // Each call adds a new function, so that the same listener can be added twice.
    const added = (name: string): void => listener(name);
    this.#listeners.add(added);
    return () => this.#listeners.delete(added);
  }

  async reach(): Promise<void> {
    await this.#connected().revisions.reach(undefined);
  }

  /** Applies a change of the log to memory. */
  apply(change: Change): void {
    const known = this.#secrets.get(change.key) ?? this.#locked.get(change.key);
    if (known !== undefined && known.revision >= change.revision) return;
    const before = this.#names.get(change.key);
    if (change.op === 'delete') this.#remove(change.key);
    else this.#set(change);
    this.#tell(this.#names.get(change.key) ?? before);
  }

  /**
   * Replaces all values by the values of a later revision. This is necessary when the log no longer has the changes
   * that led to these values.
   */
  replace(rows: ReadonlyMap<string, Row>): void {
    const changed = new Set<string | undefined>();
    for (const key of [...this.#names.keys(), ...this.#locked.keys()]) {
      if (rows.has(key)) continue;
      changed.add(this.#names.get(key));
      this.#remove(key);
    }
    for (const row of rows.values()) {
      if (this.#secrets.get(row.key)?.revision === row.revision) continue;
      changed.add(this.#names.get(row.key));
      this.#set(row);
      changed.add(this.#names.get(row.key));
    }
    for (const name of changed) this.#tell(name);
  }

  #set({ key, revision, data, problem }: Row): void {
    this.#remove(key);
    const read = problem === undefined ? decodeVaultValue(key, data) : { problem };
    if ('problem' in read) {
      this.#locked.set(key, { revision, problem: read.problem });
      this.#writing?.logger.error({ key, problem: read.problem }, 'a secret of the server cannot be read');
      return;
    }
    this.#secrets.set(key, { revision, ...read });
    this.#names.set(key, read.name);
  }

  #remove(key: string): void {
    this.#secrets.delete(key);
    this.#locked.delete(key);
    this.#names.delete(key);
  }

  /** Resolves with false when another write under the same name came first. Memory then has the other write. */
  async #submit(operation: Operation): Promise<boolean> {
    const { commits, revisions } = this.#connected();
    const { op, key, kind, data = new Uint8Array() } = operation;
    const applied = (revision: number): void => {
      // The follower may already have applied this change, among the changes of other processes.
      if (revision <= revisions.current) return;
      this.apply({ op, key, kind, data, revision });
      revisions.advance(revision, data.length);
    };
    try {
      return 'revision' in (await commits.submit(operation, applied));
    } catch (error) {
      throw storeErrorCodeOf(error) === undefined ? error : storeUnavailable(error);
    }
  }

  #tell(name: string | undefined): void {
    if (name === undefined) return;
    for (const listener of this.#listeners) {
      try {
        listener(name);
      } catch (err) {
        this.#writing?.logger.error({ err }, 'a listener of the vault failed');
      }
    }
  }

  #checkReadable(name: string): void {
    const problem = this.#locked.get(vaultKeyOf(name))?.problem;
    if (problem === undefined) return;
    throw new ApiError(
      'InternalError',
      `a secret of the server cannot be read: ${problem}; correct the encryption configuration, or restore a backup`,
    );
  }

  #connected(): VaultWriting {
    if (this.#writing === undefined) throw new Error('the vault is not connected yet');
    return this.#writing;
  }
}
