import type { EtcdLayout } from './etcd-layout.ts';
import type { EtcdLink } from './etcd-link.ts';
import type { RequestOp } from './etcd-messages.ts';
import type { StoredData } from './stored-value.ts';
import { nested } from './transactions.ts';

/** The maximum number of bytes of one piece. Large values are written to etcd in pieces. */
const maxPieceBytes = 512 * 1024;

/**
 * The maximum number of bytes of all pieces in one request. By default, etcd accepts requests of up to 1.5 MiB
 * (`--max-request-bytes`).
 */
const maxRequestBytes = 1024 * 1024;

/**
 * The lifetime of the etcd lease of staged values, in seconds. It is longer than a write can take, including the
 * look-up of its outcome.
 */
const ttlS = 120;

/**
 * Writes values that do not fit into the transaction that needs them. They are written before the transaction, with a
 * lease, and the transaction removes them from the lease. So if the transaction is not executed, the values are deleted
 * when the lease ends.
 */
export class Staging {
  readonly #link: EtcdLink;
  readonly #layout: EtcdLayout;
  readonly #id: string;
  readonly #staged = new Map<string, StoredData & { readonly kind: 'parts' }>();
  readonly #waiting: { readonly key: Buffer; readonly value: Uint8Array }[] = [];
  #lease: number | undefined;

  /** `id` is a UUID of the transaction. */
  constructor(link: EtcdLink, layout: EtcdLayout, id: string) {
    this.#link = link;
    this.#layout = layout;
    this.#id = id;
  }

  /**
   * Adds a value that {@link write} writes later, and returns the reference to it. A value that was already added under
   * the same `name` is not added again.
   */
  add(name: string, data: Uint8Array): StoredData & { readonly kind: 'parts' } {
    const known = this.#staged.get(name);
    if (known) return known;
    const staged = { kind: 'parts', id: `${this.#id}.${this.#staged.size}`, size: data.byteLength } as const;
    this.#staged.set(name, staged);
    for (let at = 0; at < data.byteLength; at += maxPieceBytes) {
      const key = this.#layout.part(staged.id, at / maxPieceBytes);
      this.#waiting.push({ key, value: data.subarray(at, at + maxPieceBytes) });
    }
    return staged;
  }

  async write(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const lease = (this.#lease ??= await this.#grant());
    for (const group of groupsOf(this.#waiting.splice(0))) {
      const puts = group.map(({ key, value }): RequestOp => ({ request_put: { key, value, lease } }));
      await this.#link.repeat((connection) => connection.call('KV/Txn', { success: nested(puts) }));
    }
  }

  /**
   * Returns operations for the transaction that needs a staged value. They take the pieces of the value off the etcd
   * lease, so that the pieces are not deleted when the lease ends.
   */
  keep({ id, size }: StoredData & { readonly kind: 'parts' }): RequestOp[] {
    const pieces = Math.ceil(size / maxPieceBytes);
    return Array.from({ length: pieces }, (_, at) => ({
      request_put: { key: this.#layout.part(id, at), ignore_value: true },
    }));
  }

  async #grant(): Promise<number> {
    const ID = Number.parseInt(this.#id.replaceAll('-', '').slice(0, 13), 16);
    await this.#link.repeat((connection) =>
      connection.call('Lease/LeaseGrant', { TTL: ttlS, ID }).catch((error: unknown) => {
        // If the response to an earlier attempt was lost, the lease already exists.
        if (!(error instanceof Error && error.message.includes('lease already exists'))) throw error;
      }),
    );
    return ID;
  }
}

function groupsOf<Item extends { readonly value: Uint8Array }>(items: readonly Item[]): Item[][] {
  const groups: Item[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const item of items) {
    size += item.value.byteLength;
    if (size > maxRequestBytes) {
      groups.push([]);
      size = item.value.byteLength;
    }
    groups.at(-1)?.push(item);
  }
  return groups;
}
