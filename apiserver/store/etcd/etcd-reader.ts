import { parseIndexes } from './batch-write.ts';
import type { EtcdConnection } from './etcd-connection.ts';
import { isCompacted } from './etcd-errors.ts';
import type { EtcdHistory } from './etcd-history.ts';
import type { EtcdLayout, KeyRange } from './etcd-layout.ts';
import type { EtcdLink } from './etcd-link.ts';
import type { Integer, KeyValue, RangeResponse } from './etcd-messages.ts';
import { type Head, parseHead } from './head.ts';
import {
  type LoggedChange,
  type LogRecord,
  parseObject,
  parseRecord,
  type StoredData,
  type StoredObject,
} from './stored-value.ts';
import { foundIn, get } from './transactions.ts';
import { type RowPage, type PageLimits, pageLimits } from '../server/pages.ts';
import { SharedRead } from '../shared-read.ts';
import {
  type Change,
  CompactedError,
  type Row,
  type StoredClaim,
  type StoredClaims,
  type StoredIndexes,
} from '../store.ts';
import { StoreError } from '../store-error.ts';

/** The maximum number of claims in one response. */
const claimsAtOnce = 5_000;

/**
 * The number of keys in the first response, and the bounds of the number in later responses. That number depends on the
 * size of the previous values.
 */
const keysAtOnce = { first: 64, min: 4, max: 8_000 } as const;

/**
 * The number of bytes of a page when all objects of a kind are read. For each response, a member visits all keys up to
 * the end of the range, so a few large responses are faster than many small ones.
 */
const scannedBytes = 4 * pageLimits.maxBytes;

export interface EtcdReaderParts {
  readonly link: EtcdLink;
  readonly layout: EtcdLayout;
  readonly history: EtcdHistory;
}

/**
 * Reads the database. Each read returns the latest state of the cluster, or continues at the revision of an earlier
 * read.
 */
export class EtcdReader {
  readonly #link: EtcdLink;
  readonly #layout: EtcdLayout;
  readonly #history: EtcdHistory;
  readonly #head = new SharedRead(() => this.#readHead());
  #rowsAtOnce: number = keysAtOnce.first;
  #recordsAtOnce: number = keysAtOnce.first;

  constructor({ link, layout, history }: EtcdReaderParts) {
    this.#link = link;
    this.#layout = layout;
    this.#history = history;
  }

  async currentRevision(): Promise<number> {
    return (await this.#head.get()).revision;
  }

  /** Checks the version of the database. Rejects with StoreError `newer` if a newer program has upgraded it. */
  async checkSchema(): Promise<void> {
    await this.#head.get();
  }

  /**
   * Returns the id number of each kind that has objects, in the order of the objects' keys. One key of each kind is
   * enough to sort the kinds, because all keys of a kind have the same prefix.
   */
  async kinds(): Promise<number[]> {
    const { objects } = this.#layout;
    const kinds: { readonly kind: number; readonly key: string }[] = [];
    for (let key = objects.key; ;) {
      const { kvs } = await this.#range({ key, range_end: objects.range_end, limit: 1, keys_only: true });
      if (!kvs[0]) break;
      const found = this.#layout.objectAt(kvs[0].key);
      kinds.push(found);
      key = this.#layout.objectsOf(found.kind).range_end;
    }
    return kinds.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ kind }) => kind);
  }

  /** Returns a page of the objects of a kind after a key. The page is larger than those of other reads. */
  async scan(kind: number, after: string): Promise<RowPage<Row>> {
    const { range_end } = this.#layout.objectsOf(kind);
    const key = after === '' ? this.#layout.objectsOf(kind).key : next(this.#layout.object(kind, after));
    const { kvs, more } = await this.#range({ key, range_end, limit: this.#rowsAtOnce });
    this.#rowsAtOnce = keysFor(kvs, scannedBytes);
    const rows = kvs.map((kv) => ({ kv, stored: parseObject(kv.value) }));
    const page = pageFrom(rows, ({ stored }) => sizeOf(stored.bytes), scannedBytes);
    const items = (await Promise.all(page.map((row) => this.#rowOf(row)))).filter((row) => row !== undefined);
    const isLast = !more && page.length === rows.length;
    // If there are no items, all objects of the page were deleted meanwhile, so the next page is read.
    return items.length > 0 || isLast ? { items, isLast } : this.scan(kind, this.#keyOf(page.at(-1)?.kv));
  }

  /**
   * Returns the first changes after a revision, without gaps. Rejects with CompactedError if these changes are
   * compacted.
   */
  async changes(after: number, { maxRows, maxBytes }: PageLimits): Promise<RowPage<Change>> {
    const { records, more } = await this.#records(after);
    const logged = records.flatMap(({ changes }) => changes.filter(({ revision }) => revision > after));
    const sizeOfChange = ({ bytes, previous }: LoggedChange): number => sizeOf(bytes) + sizeOf(previous?.bytes);
    const page = pageFrom(logged.slice(0, maxRows), sizeOfChange, maxBytes);
    const items = await Promise.all(page.map((change) => this.#changeOf(change)));
    return { items, isLast: !more && page.length === logged.length };
  }

  /** Returns true when objects of a kind have changed after a revision, or when the changes after it are compacted. */
  async hasChanged(kind: number, after: number, head: Head): Promise<boolean> {
    if (after < head.compactRevision) return true;
    for (let from = after; from < head.revision;) {
      const { records, more } = await this.#records(from);
      const changes = records.flatMap((record) => record.changes);
      if (changes.some((change) => change.revision > after && change.kind === kind)) return true;
      if (!more) return false;
      from = changes.at(-1)?.revision ?? head.revision;
    }
    return false;
  }

  async names(prefix: string): Promise<readonly string[]> {
    const { numbers } = this.#layout;
    const { kvs } = await this.#range({ ...numbers, keys_only: true });
    return kvs.map(({ key }) => key.toString('utf8', numbers.key.length)).filter((name) => name.startsWith(prefix));
  }

  async storedClaims(kind: number): Promise<readonly StoredClaim[]> {
    return (await this.claims(kind)).claims;
  }

  async uniqueIndexes(kind: number): Promise<StoredIndexes> {
    const { kvs } = await this.#range({ key: this.#layout.indexes(kind) });
    return parseIndexes(kvs[0]?.value);
  }

  async claims(kind: number): Promise<StoredClaims> {
    for (;;) {
      try {
        return await this.#claims(kind);
      } catch (error) {
        // The revision of the first page is compacted, so all pages are read again.
        if (!isCompacted(error) && !isCompacted(error instanceof Error ? error.cause : undefined)) throw error;
      }
    }
  }

  /** Reads all claims of a kind, page by page, at the revision of the first page. */
  async #claims(kind: number): Promise<StoredClaims> {
    const { layout, first } = { layout: this.#layout, first: { ...this.#layout.claimsOf(kind), limit: claimsAtOnce } };
    const { header, responses } = await this.#link.repeat((connection) =>
      connection.call('KV/Txn', {
        success: [get(layout.head), get(layout.indexes(kind)), { request_range: first }],
      }),
    );
    const values = foundIn(responses);
    const { revision } = this.#headIn(values);
    const { generation, indexes } = parseIndexes(values.get(layout.indexes(kind).toString()));
    const claims: StoredClaim[] = [];
    for (let page = responses[2]?.response_range; page; page = await this.#pageAfter(page, first, header.revision)) {
      for (const { key, value } of page.kvs) claims.push({ ...layout.claimAt(kind, key), key: value.toString() });
    }
    return { revision, generation, indexes, claims };
  }

  async #pageAfter(
    page: RangeResponse,
    range: KeyRange & { readonly limit: number },
    revision: Integer,
  ): Promise<RangeResponse | undefined> {
    const last = page.kvs.at(-1);
    if (!page.more || !last) return undefined;
    return this.#range({ ...range, key: next(last.key), revision });
  }

  #range(request: Parameters<typeof rangeWith>[1]): Promise<RangeResponse> {
    return this.#link.repeat((connection) => rangeWith(connection, request));
  }

  async #readHead(): Promise<Head> {
    const { kvs } = await this.#range({ key: this.#layout.head });
    return this.#headIn(new Map(kvs.map(({ key, value }) => [key.toString(), value])));
  }

  #headIn(values: ReadonlyMap<string, Buffer>): Head {
    const head = values.get(this.#layout.head.toString());
    if (head === undefined) throw new StoreError('diverged', `${this.#link.name} was emptied: restart this server`);
    return parseHead(head, this.#link.name);
  }

  async #records(after: number): Promise<{ readonly records: readonly LogRecord[]; readonly more: boolean }> {
    const layout = this.#layout;
    const known = this.#history.known.last;
    const range = { ...layout.logBetween(after + 1, Number.MAX_SAFE_INTEGER - 1), limit: this.#recordsAtOnce };
    const { responses } = await this.#link.repeat((connection) =>
      connection.call('KV/Txn', { success: [get(layout.head), { request_range: range }] }),
    );
    const head = this.#headIn(foundIn(responses.slice(0, 1)));
    this.#history.known.check({ ...head, batch: known.batch }, known);
    if (after < head.compactRevision) throw new CompactedError(head.compactRevision);
    const { kvs = [], more = false } = responses[1]?.response_range ?? {};
    this.#recordsAtOnce = keysFor(kvs, pageLimits.maxBytes);
    const records = kvs.map(({ value }) => parseRecord(value));
    const last = records.at(-1);
    if (last) this.#history.known.learn(last.changes.at(-1)?.revision ?? 0, last.commit);
    return { records, more };
  }

  #keyOf(kv: KeyValue | undefined): string {
    return kv ? this.#layout.objectAt(kv.key).key : '';
  }

  /** Returns the row of a listed object; undefined when the object was deleted meanwhile. */
  async #rowOf({ kv, stored }: { readonly kv: KeyValue; readonly stored: StoredObject }): Promise<Row | undefined> {
    for (let found: StoredObject | undefined = stored; found;) {
      const data = await this.#bytesOf(found.bytes);
      if (data) return { key: this.#keyOf(kv), revision: found.revision, data };
      // The object was written again meanwhile, and its former parts were deleted, so it is read again.
      const [now] = (await this.#range({ key: kv.key })).kvs;
      found = now && parseObject(now.value);
    }
    return undefined;
  }

  async #changeOf({ revision, op, key, kind, bytes, previous }: LoggedChange): Promise<Change> {
    const before = previous && { revision: previous.revision, data: await this.#loggedBytes(previous.bytes) };
    const data = bytes ? await this.#loggedBytes(bytes) : (before?.data ?? new Uint8Array());
    return { revision, op, key, kind, data, ...(before && { previous: before }) };
  }

  async #loggedBytes(bytes: StoredData): Promise<Uint8Array> {
    const data = await this.#bytesOf(bytes);
    if (data) return data;
    // A compaction deleted these bytes after the log entry that refers to them was read.
    throw new CompactedError((await this.#head.get()).compactRevision);
  }

  /** Returns the bytes of a value; undefined when its parts were deleted. */
  async #bytesOf(bytes: StoredData): Promise<Uint8Array | undefined> {
    if (bytes.kind === 'inline') return bytes.data;
    if (bytes.size === 0) return new Uint8Array();
    const { kvs } = await this.#range(this.#layout.parts(bytes.id));
    const data = Buffer.concat(kvs.map(({ value }) => value));
    return data.byteLength === bytes.size ? data : undefined;
  }
}

function rangeWith(
  connection: EtcdConnection,
  request: KeyRange | { key: Buffer; range_end?: Buffer; limit?: number; keys_only?: boolean; revision?: Integer },
): Promise<RangeResponse> {
  return connection.call('KV/Range', request);
}

/** Returns the first items, up to and including the item with which their total size reaches `maxBytes`. */
function pageFrom<Item>(items: readonly Item[], size: (item: Item) => number, maxBytes: number): readonly Item[] {
  let total = 0;
  const last = items.findIndex((item) => (total += size(item)) >= maxBytes);
  return last < 0 ? items : items.slice(0, last + 1);
}

function sizeOf(bytes: StoredData | undefined): number {
  if (!bytes) return 0;
  return bytes.kind === 'inline' ? bytes.data.byteLength : bytes.size;
}

/** Returns the first key after a key. */
function next(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.of(0)]);
}

/**
 * Returns the number of keys to request, so that the response has about `bytes` bytes, if its values are as large as
 * those of `kvs`.
 */
function keysFor(kvs: readonly KeyValue[], bytes: number): number {
  if (kvs.length === 0) return keysAtOnce.first;
  const size = kvs.reduce((total, { value }) => total + value.byteLength, 0) / kvs.length;
  return Math.min(keysAtOnce.max, Math.max(keysAtOnce.min, Math.ceil(bytes / Math.max(size, 1))));
}
