import { batchWrite, readsOf, stateOf } from './batch-write.ts';
import type { EtcdHistory } from './etcd-history.ts';
import type { EtcdLayout } from './etcd-layout.ts';
import type { EtcdLink } from './etcd-link.ts';
import type { EtcdWriter } from './etcd-writer.ts';
import { Staging } from './staging.ts';
import { drop, put } from './transactions.ts';
import { needsOf, planBatch } from '../server/batch-plan.ts';
import type { Committed, OpenedStore, Operation } from '../store.ts';
import { StoreError } from '../store-error.ts';

export interface EtcdCommitterParts {
  readonly writer: EtcdWriter;
  readonly link: EtcdLink;
  readonly layout: EtcdLayout;
  readonly history: EtcdHistory;
  readonly uuid: () => string;
}

/**
 * Commits batches of operations, and assigns numbers to names, such as those of kinds and indexes. Compacts the change
 * log, and starts a new history.
 */
export class EtcdCommitter {
  readonly #parts: EtcdCommitterParts;

  constructor(parts: EtcdCommitterParts) {
    this.#parts = parts;
  }

  /**
   * Commits a batch in two round trips: the first reads the state on which the batch depends, the second is the
   * transaction. More round trips are needed for large values, and when another store writes first.
   */
  async commit(batch: readonly Operation[]): Promise<Committed> {
    const { writer, link, layout, uuid } = this.#parts;
    const needs = needsOf(batch);
    return writer.run(() => {
      const commit = uuid();
      const staging = new Staging(link, layout, commit);
      return writer.update<Committed>({
        reads: readsOf(layout, needs),
        mayLag: true,
        decide: async (found) => {
          const state = stateOf(layout, needs, found);
          const plan = planBatch(batch, state);
          const result = { before: state.revision, outcomes: plan.outcomes };
          if (plan.writes.length === 0) return { result };
          const write = batchWrite(plan, state, { layout, staging, commit });
          await staging.write();
          return { result, write };
        },
      });
    });
  }

  /**
   * Drops changes from the log, and returns their number. The number is the difference of the compaction revisions
   * before and after, because the revisions in the log have no gaps.
   */
  async compact(upTo: number, maxRows: number): Promise<number> {
    if (maxRows < 1) return 0;
    const { writer, layout } = this.#parts;
    return writer.run(() =>
      writer.update({
        reads: [{ request_range: layout.garbageUpTo(upTo) }],
        decide: ({ head, values }) => {
          const bound = Math.min(upTo, head.revision, head.compactRevision + maxRows);
          if (bound <= head.compactRevision) return { result: 0 };
          const last = layout.garbage(bound).toString();
          const isGarbage = (key: string): boolean => key >= layout.garbage(0).toString() && key <= last;
          const ids = [...values].filter(([key]) => isGarbage(key)).flatMap(([, value]) => idsIn(value));
          const operations = [
            drop(layout.logBetween(0, bound)),
            drop(layout.garbageUpTo(bound)),
            ...ids.map((id) => drop(layout.parts(id))),
          ];
          return { result: bound - head.compactRevision, write: { head: { compactRevision: bound }, operations } };
        },
      }),
    );
  }

  async numberOf(name: string): Promise<number> {
    const { writer, layout } = this.#parts;
    const key = layout.number(name);
    return writer.run(() =>
      writer.update({
        reads: [{ request_range: layout.numbers }],
        decide: ({ values }) => {
          const known = values.get(key.toString());
          if (known) return { result: Number(known.toString()) };
          const isNumber = (each: string): boolean => each.startsWith(layout.numbers.key.toString());
          const numbers = [...values].filter(([each]) => isNumber(each)).map(([, value]) => Number(value.toString()));
          const result = Math.max(0, ...numbers) + 1;
          return { result, write: { head: {}, operations: [put(key, String(result))] } };
        },
      }),
    );
  }

  async startHistory(revision: number): Promise<OpenedStore> {
    const { writer, layout, history, uuid } = this.#parts;
    const epoch = uuid();
    const opened = { revision, compactRevision: revision, epoch };
    history.known.expect(epoch);
    await writer.run(() =>
      writer.update({
        reads: [{ request_range: { ...layout.objects, limit: 1, keys_only: true } }],
        decide: ({ head, values }) => {
          // An earlier attempt has already stored this new epoch, but its response was lost.
          if (head.epoch === epoch) return { result: undefined };
          if ([...values.keys()].some((key) => key.startsWith(layout.objects.key.toString()))) {
            throw new StoreError('refused', 'the database has objects already');
          }
          const operations = [drop(layout.allLogs), drop(layout.allGarbage), drop(layout.allParts)];
          return { result: undefined, write: { head: opened, operations } };
        },
      }),
    );
    history.known.start(opened);
    return opened;
  }
}

function idsIn(value: Buffer): readonly string[] {
  return JSON.parse(value.toString()) as readonly string[];
}
