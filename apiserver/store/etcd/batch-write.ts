import type { EtcdLayout } from './etcd-layout.ts';
import type { RequestOp } from './etcd-messages.ts';
import type { Found, Write } from './etcd-writer.ts';
import type { Staging } from './staging.ts';
import {
  formatObject,
  formatRecord,
  type LoggedChange,
  parseObject,
  type StoredData,
  type StoredObject,
} from './stored-value.ts';
import { drop, get, put } from './transactions.ts';
import { type BatchNeeds, type BatchPlan, type BatchState, claimId, type PlannedWrite } from '../server/batch-plan.ts';
import type { Operation, StoredIndexes } from '../store.ts';

/**
 * The number of bytes above which a value is staged, which means that it is written before the transaction. So the size
 * of a transaction is bounded.
 */
const maxInlineBytes = 64 * 1024;

/**
 * The maximum number of bytes of keys and values in a transaction. A request may have 1.5 MiB in all
 * (`--max-request-bytes`); the rest is for claims.
 */
const maxRequestBytes = 1.25 * 1024 * 1024;

/**
 * The estimated number of bytes that a write adds to a transaction, without the write's values and without the three
 * copies of the object's key that the transaction contains.
 */
const bytesPerWrite = 300;
/** The estimated number of bytes that the reference to a staged value adds to a transaction. */
const bytesPerStaged = 300;

/** The state on which a batch depends, and the previous states of its objects. */
export interface StoredState extends BatchState {
  readonly objects: ReadonlyMap<string, StoredObject>;
}

export function readsOf(layout: EtcdLayout, { keys, claims, generations }: BatchNeeds): RequestOp[] {
  const objects = [...keys].flatMap(([kind, ofKind]) => ofKind.map((key) => get(layout.object(kind, key))));
  return [
    ...objects,
    ...claims.map((claim) => get(layout.claim(claim))),
    ...generations.map((kind) => get(layout.indexes(kind))),
  ];
}

export function stateOf(layout: EtcdLayout, { keys, claims, generations }: BatchNeeds, found: Found): StoredState {
  const objects = new Map<string, StoredObject>();
  const value = (key: Buffer): Buffer | undefined => found.values.get(key.toString());
  for (const [kind, ofKind] of keys) {
    for (const key of ofKind) {
      const stored = value(layout.object(kind, key));
      if (stored) objects.set(key, parseObject(stored));
    }
  }
  const held = claims.flatMap((claim) => {
    const holder = value(layout.claim(claim));
    return holder ? [[claimId(claim), holder.toString()] as const] : [];
  });
  return {
    revision: found.head.revision,
    objects,
    revisions: new Map([...objects].map(([key, { revision }]) => [key, revision])),
    holders: new Map(held),
    generations: new Map(generations.map((kind) => [kind, generationIn(value(layout.indexes(kind)))])),
  };
}

/** Parses the unique indexes of a kind. `value` is undefined for a kind whose indexes were never set. */
export function parseIndexes(value: Buffer | undefined): StoredIndexes {
  return value ? (JSON.parse(value.toString()) as StoredIndexes) : { generation: 0, indexes: [] };
}

function generationIn(value: Buffer | undefined): number {
  return parseIndexes(value).generation;
}

export interface BatchWriteParts {
  readonly layout: EtcdLayout;
  readonly staging: Staging;
  readonly commit: string;
}

/** Returns the transaction for a plan. Before the transaction is executed, the caller must write the staged values. */
export function batchWrite(plan: BatchPlan, state: StoredState, { layout, staging, commit }: BatchWriteParts): Write {
  const changes = stagedChanges(plan.writes, state, staging);
  const objects = changes.map(({ op, kind, key, revision, bytes }) => {
    const at = layout.object(kind, key);
    return op === 'delete' || !bytes ? drop(at) : put(at, formatObject({ revision, bytes }));
  });
  const garbage = changes.flatMap(garbageOf);
  const taken = new Set(plan.taken.map(claimId));
  return {
    commit,
    head: { revision: plan.revision },
    operations: [
      ...objects,
      put(layout.log(plan.revision), formatRecord({ commit, changes })),
      // If the batch gives a dropped claim to another object, the next line overwrites the claim; it is not deleted.
      ...plan.dropped.filter((claim) => !taken.has(claimId(claim))).map((claim) => drop(layout.claim(claim))),
      ...plan.taken.map((claim) => put(layout.claim(claim), claim.key)),
      ...(garbage.length > 0 ? [put(layout.garbage(plan.revision), JSON.stringify(garbage))] : []),
      ...changes.flatMap((change) => newParts(change, state)).flatMap((parts) => staging.keep(parts)),
    ],
  };
}

/**
 * Returns the changes of a batch. Stages values, which means that they are written before the transaction: each value
 * above {@link maxInlineBytes}, and further values until the remaining ones fit into one transaction. Values whose
 * staging saves the most bytes in the transaction are staged first.
 */
function stagedChanges(writes: readonly PlannedWrite[], state: StoredState, staging: Staging): LoggedChange[] {
  const values = writes.flatMap((write) => valuesOf(write, state));
  const withoutValues = writes.reduce((sum, { operation }) => sum + 3 * operation.key.length + bytesPerWrite, 0);
  let total = values.reduce((sum, { saved }) => sum + saved, withoutValues);
  const names = new Set<string>();
  for (const { name, size, saved } of values.toSorted((a, b) => b.saved - a.saved)) {
    if (total <= maxRequestBytes && size <= maxInlineBytes) continue;
    names.add(name);
    total += bytesPerStaged - saved;
  }
  const bytesOf = (name: string, data: Uint8Array): StoredData =>
    names.has(name) ? staging.add(name, data) : { kind: 'inline', data };
  return writes.map(({ operation, revision }) => {
    const { op, kind, key, data } = operation;
    const before = op === 'create' ? undefined : state.objects.get(key);
    return {
      revision,
      op,
      kind,
      key,
      bytes: data && bytesOf(dataName(operation), data),
      previous:
        before?.bytes.kind === 'inline'
          ? { revision: before.revision, bytes: bytesOf(previousName(operation, before), before.bytes.data) }
          : before,
    };
  });
}

interface InlineValue {
  readonly name: string;
  readonly size: number;
  /**
   * The number of bytes that staging the value saves in the transaction: those of all its copies. A staged value is
   * written before the transaction.
   */
  readonly saved: number;
}

function valuesOf({ operation }: PlannedWrite, { objects }: StoredState): InlineValue[] {
  const { op, data } = operation;
  const values: InlineValue[] = [];
  const size = data?.byteLength ?? 0;
  // A transaction contains the new bytes of an object twice, in the object and in the log; for a deletion, only in the
  // log.
  if (data) values.push({ name: dataName(operation), size, saved: op === 'delete' ? size : 2 * size });
  const before = op === 'create' ? undefined : objects.get(operation.key);
  if (before?.bytes.kind === 'inline') {
    const previous = before.bytes.data.byteLength;
    values.push({ name: previousName(operation, before), size: previous, saved: previous });
  }
  return values;
}

function dataName({ key }: Operation): string {
  return `data ${key}`;
}

function previousName({ key }: Operation, { revision }: StoredObject): string {
  return `previous ${revision} ${key}`;
}

/**
 * A large value is stored in several keys of etcd, under one id. Returns the ids of the large values that only the log
 * needs after this change is written: the state of the object before the change, and for a deletion also the final
 * state that the log records. These values are deleted when the change is compacted.
 */
function garbageOf({ op, bytes, previous }: LoggedChange): string[] {
  const values = op === 'delete' ? [bytes, previous?.bytes] : [previous?.bytes];
  return values.flatMap((value) => (value?.kind === 'parts' ? [value.id] : []));
}

function newParts(
  { key, bytes, previous }: LoggedChange,
  { objects }: StoredState,
): (StoredData & { kind: 'parts' })[] {
  const isNew = previous && previous !== objects.get(key);
  const values = isNew ? [bytes, previous.bytes] : [bytes];
  return values.flatMap((value) => (value?.kind === 'parts' ? [value] : []));
}
