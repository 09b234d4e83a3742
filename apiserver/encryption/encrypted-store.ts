import { keyPrefixOf, kindNameOf, kindOfKey } from '../store/object-key.ts';
import type { StoredKind } from '../store/object-key.ts';
import type {
  BatchLimits,
  Change,
  Committed,
  KeptStore,
  KindClaims,
  OpenedStore,
  Operation,
  Row,
  SnapshotStore,
  Store,
} from '../store/store.ts';
import { EncryptedKept } from './encrypted-kept.ts';
import type { Encryption, KindEncryption } from './encryption.ts';

/** Finds the encryption keys. Called after the database is opened, and before any object is read. */
export type OpenEncryption = (store: Pick<Store, 'names' | 'numberOf'>) => Promise<Encryption>;

/**
 * A row that has to be written again, because its encryption is outdated. Its data is decrypted, unless the row has a
 * `problem`.
 */
export interface OutdatedRow extends Row {
  /** The number that identifies the kind of the row's object in the database. */
  readonly kind: number;
}

const plainText: KindEncryption = { key: undefined, readsPlain: true };

/**
 * A store that encrypts objects when it writes them to another store, and decrypts them when it reads them: the current
 * objects, the changes in the log, and the states before changes. A row that cannot be decrypted is returned in its
 * stored form, with the reason (`problem`).
 */
export class EncryptedStore implements Store {
  /** The store without decryption, which returns the bytes as they are stored. */
  readonly stored: Store;
  readonly #openEncryption: OpenEncryption;
  #encryption: Encryption | undefined;
  /** The encryption of each kind, by the number that identifies the kind in the database. */
  readonly #kinds = new Map<number, KindEncryption>();
  #lastPrefix = ' ';
  #last = plainText;

  constructor(store: Store, openEncryption: OpenEncryption) {
    this.stored = store;
    this.#openEncryption = openEncryption;
  }

  get isShared(): boolean {
    return this.stored.isShared;
  }

  /** Returns {@link Store.passesNotes} of {@link stored}. A `note` is not encrypted: the database never stores it. */
  get passesNotes(): boolean {
    return this.stored.passesNotes === true;
  }

  get batchLimits(): BatchLimits | undefined {
    return this.stored.batchLimits;
  }

  get kept(): KeptStore | undefined {
    const { kept } = this.stored;
    return kept && new EncryptedKept(kept, () => this.#opened());
  }

  get snapshots(): SnapshotStore | undefined {
    return this.stored.snapshots;
  }

  async open(): Promise<OpenedStore> {
    const opened = await this.stored.open();
    this.#encryption = await this.#openEncryption(this.stored);
    return opened;
  }

  commit(batch: readonly Operation[]): Promise<Committed> {
    // Most batches have no object to encrypt, and are passed on unchanged.
    for (const { kind, key } of batch) {
      if (this.#ofNumber(kind, key).key === undefined) continue;
      return this.stored.commit(batch.map((operation) => this.#sealed(operation)));
    }
    return this.stored.commit(batch);
  }

  async *scan(kind?: number): AsyncGenerator<readonly Row[], void, undefined> {
    for await (const page of this.stored.scan(kind)) yield page.map((row) => this.#readable(row, this.#ofKey(row.key)));
  }

  /** True when written objects of the kind are encrypted. */
  encrypts(kind: StoredKind): boolean {
    return this.#opened().of(kind).key !== undefined;
  }

  /** Returns a row of {@link stored} in decrypted form, as {@link scan} does. */
  readable(row: Row): Row {
    return this.#readable(row, this.#ofKey(row.key));
  }

  /**
   * Yields, in pages in the order of keys, the rows whose encryption is outdated: a write would now encrypt them with
   * another key, or would store them in the other form (plain or encrypted). Also deletes the kept data and the
   * snapshot of each kind that has such a row, because the encryption of this data is outdated too. For a kind that is
   * not served, nothing else would replace this data.
   */
  async *outdated(): AsyncGenerator<readonly OutdatedRow[], void, undefined> {
    const dropped = new Set<number>();
    for await (const page of this.stored.scan()) {
      const rows = page.filter(({ key, data }) => this.#opened().isOutdated(this.#ofKey(key), data));
      if (rows.length === 0) continue;
      const numbered = await Promise.all(rows.map((row) => this.#numbered(row)));
      for (const row of numbered) if (!dropped.has(row.kind)) await this.#dropKept(row, dropped);
      yield numbered;
    }
  }

  async #dropKept({ key, kind: number }: OutdatedRow, dropped: Set<number>): Promise<void> {
    dropped.add(number);
    const kind = kindOfKey(key);
    if (kind === undefined) return;
    const { kept, snapshots } = this.stored;
    await kept?.drop({ ...kind, number });
    await snapshots?.drop(snapshots.nameOf({ ...kind, number }));
  }

  async changes(after: number, limit: number): Promise<readonly Change[]> {
    const changes = await this.stored.changes(after, limit);
    return changes.map((change) => this.#readableChange(change));
  }

  currentRevision(): Promise<number> {
    return this.stored.currentRevision();
  }

  checkSchema(): Promise<void> {
    return this.stored.checkSchema();
  }

  subscribe(wake: (revision: number) => void): () => void {
    return this.stored.subscribe(wake);
  }

  compact(upTo: number, maxRows: number): Promise<number> {
    return this.stored.compact(upTo, maxRows);
  }

  numberOf(name: string): Promise<number> {
    return this.stored.numberOf(name);
  }

  names(prefix: string): Promise<readonly string[]> {
    return this.stored.names(prefix);
  }

  uniqueIndexes(kind: number): ReturnType<Store['uniqueIndexes']> {
    return this.stored.uniqueIndexes(kind);
  }

  claims(kind: number): ReturnType<Store['claims']> {
    return this.stored.claims(kind);
  }

  setClaims(kind: number, claims: KindClaims): ReturnType<Store['setClaims']> {
    return this.stored.setClaims(kind, claims);
  }

  startHistory(revision: number): Promise<OpenedStore> {
    return this.stored.startHistory(revision);
  }

  close(): Promise<void> {
    return this.stored.close();
  }

  async #numbered(row: Row): Promise<OutdatedRow> {
    const kind = kindOfKey(row.key);
    if (kind === undefined) throw new Error(`${JSON.stringify(row.key)} is not the key of an object`);
    return { ...this.readable(row), kind: await this.stored.numberOf(kindNameOf(kind)) };
  }

  #opened(): Encryption {
    if (this.#encryption === undefined) throw new Error('the store is not open');
    return this.#encryption;
  }

  #ofNumber(kind: number, key: string): KindEncryption {
    const known = this.#kinds.get(kind);
    if (known !== undefined) return known;
    const found = this.#ofKey(key);
    this.#kinds.set(kind, found);
    return found;
  }

  /** Returns the encryption of a key's kind. It caches the last kind, because rows are read in the order of keys. */
  #ofKey(key: string): KindEncryption {
    if (key.startsWith(this.#lastPrefix)) return this.#last;
    const kind = kindOfKey(key);
    // The mark of an unfinished import is not an object, and has no kind.
    if (kind === undefined) return plainText;
    this.#lastPrefix = keyPrefixOf(kind);
    this.#last = this.#opened().of(kind);
    return this.#last;
  }

  #sealed(operation: Operation): Operation {
    const { kind, key, data } = operation;
    const encryption = this.#ofNumber(kind, key);
    if (data === undefined || encryption.key === undefined) return operation;
    return { ...operation, data: this.#opened().seal(encryption, key, data) };
  }

  /**
   * Returns a decrypted copy of an encrypted row, and the same row if it is in plain text and `encryption` accepts
   * plain text. Returns a copy with a `problem` when the row cannot be decrypted, or when `encryption` does not accept
   * its plain text.
   */
  #readable<T extends Pick<Row, 'key' | 'data'>>(row: T, encryption: KindEncryption): T {
    const { key, data } = row;
    const unsealed = this.#opened().unseal(encryption, key, data);
    if (unsealed.data === data) return row;
    return unsealed.data === undefined ? { ...row, problem: unsealed.problem } : { ...row, data: unsealed.data };
  }

  #readableChange(change: Change): Change {
    const { key, kind, previous } = change;
    const encryption = this.#ofNumber(kind, key);
    const readable = this.#readable(change, encryption);
    if (previous === undefined) return readable;
    const { key: _key, ...before } = this.#readable({ key, ...previous }, encryption);
    return before.data === previous.data && !('problem' in before) ? readable : { ...readable, previous: before };
  }
}
