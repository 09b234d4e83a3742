import type { KeyRange } from './etcd-layout.ts';
import type { Compare, RequestOp, ResponseOp } from './etcd-messages.ts';

/**
 * The maximum number of operations in one transaction when transactions are nested. A nested transaction counts as one
 * operation. A cluster adds the operations of a transaction to those of all transactions that contain it, and allows
 * 128 in total (`--max-txn-ops`), so there may be three levels.
 */
const maxListed = 42;

export const get = (key: Buffer): RequestOp => ({ request_range: { key } });
export const put = (key: Buffer, value: Uint8Array | string): RequestOp => ({
  request_put: { key, value: typeof value === 'string' ? Buffer.from(value) : value },
});
export const drop = (key: Buffer | KeyRange): RequestOp => ({
  request_delete_range: Buffer.isBuffer(key) ? { key } : key,
});

export const isEqual = (key: Buffer, value: Uint8Array): Compare => ({ result: 0, target: 3, key, value });
/** Returns the condition that a key does not exist, or that a range is empty. */
export const isAbsent = (key: Buffer | KeyRange): Compare => ({
  result: 0,
  target: 0,
  ...(Buffer.isBuffer(key) ? { key } : key),
  version: 0,
});

/**
 * The maximum number of reads in a transaction without nested transactions. More reads need nested transactions, and
 * etcd sends a transaction that contains these through consensus, like a write. Because this is expensive, the maximum
 * is almost as large as the cluster's own limit of 128 operations.
 */
const maxReads = 120;

/**
 * Returns the operations of a transaction that reads several ranges. They are nested only if there are more of them
 * than {@link maxReads}.
 */
export function reading(operations: readonly RequestOp[]): readonly RequestOp[] {
  return operations.length <= maxReads ? operations : nested(operations);
}

/** Puts operations into nested transactions, so that one transaction can have tens of thousands of operations. */
export function nested(operations: readonly RequestOp[]): readonly RequestOp[] {
  if (operations.length <= maxListed) return operations;
  const lists: RequestOp[] = [];
  for (let from = 0; from < operations.length; from += maxListed) {
    lists.push({ request_txn: { success: operations.slice(from, from + maxListed) } });
  }
  return nested(lists);
}

/** Returns the values that a transaction and its nested transactions have read, by key. */
export function foundIn(responses: readonly ResponseOp[], found: Map<string, Buffer> = new Map()): Map<string, Buffer> {
  for (const { response_range: range, response_txn: inner } of responses) {
    if (inner) foundIn(inner.responses, found);
    for (const { key, value } of range?.kvs ?? []) found.set(key.toString(), value);
  }
  return found;
}
