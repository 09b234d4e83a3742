import { parseIndexes } from './batch-write.ts';
import type { EtcdLayout } from './etcd-layout.ts';
import type { EtcdReader } from './etcd-reader.ts';
import type { EtcdWriter, Found, Write } from './etcd-writer.ts';
import type { RequestOp } from './etcd-messages.ts';
import { drop, get, put } from './transactions.ts';
import { runInTurns } from '../../turns/steps.ts';
import { claimDifference } from '../claim-difference.ts';
import type { ClaimsOutcome, KindClaims, StoredClaim } from '../store.ts';

/** The maximum number of claims in one transaction. Each takes about 300 bytes. */
const maxClaimsAtOnce = 2_000;

export interface EtcdClaimsParts {
  readonly writer: EtcdWriter;
  readonly reader: EtcdReader;
  readonly layout: EtcdLayout;
}

/**
 * The result of one transaction of {@link setClaims}: the outcome, or the generation and the revision with which the
 * next transaction continues.
 */
type Progress = { readonly outcome: ClaimsOutcome } | { readonly generation: number; readonly revision: number };

/**
 * Sets the unique indexes and the claims of a kind. Claims that do not fit into one transaction are set in several. The
 * first transaction sets the new generation, which no writer knows yet. So all writes of the kind are refused until the
 * last transaction is done. After an interruption, the next call completes the rest.
 */
export async function setClaims(kind: number, wanted: KindClaims, parts: EtcdClaimsParts): Promise<ClaimsOutcome> {
  return parts.writer.run(async () => {
    let progress = await step(kind, wanted, parts);
    while (!('outcome' in progress)) progress = await step(kind, wanted, parts, progress);
    return progress.outcome;
  });
}

function step(
  kind: number,
  wanted: KindClaims,
  { writer, reader, layout }: EtcdClaimsParts,
  begun?: { readonly generation: number; readonly revision: number },
): Promise<Progress> {
  const decide = async (found: Found): Promise<{ result: Progress; write?: Write }> => {
    const stored = parseIndexes(found.values.get(layout.indexes(kind).toString()));
    const generation = begun?.generation ?? stored.generation + 1;
    const indexes = put(layout.indexes(kind), JSON.stringify({ generation, indexes: wanted.indexes }));
    const write = (operations: readonly RequestOp[]): Write => ({ head: {}, operations });
    const isBehind = begun && stored.generation !== begun.generation;
    if (isBehind || (await reader.hasChanged(kind, begun?.revision ?? wanted.revision, found.head))) {
      const result: Progress = { outcome: { refused: 'behind' } };
      return begun ? { result } : { result, write: write([indexes]) };
    }
    const { set, drop: dropped } = await runInTurns(claimDifference(await reader.storedClaims(kind), wanted.claims));
    const changes = [
      ...dropped.map((claim) => drop(layout.claim({ ...claim, kind }))),
      ...set.map((claim: StoredClaim) => put(layout.claim({ ...claim, kind }), claim.key)),
    ];
    const isSame = changes.length === 0 && stored.indexes.join() === wanted.indexes.join();
    if (isSame) return { result: { outcome: { generation: stored.generation } } };
    const isLast = changes.length <= maxClaimsAtOnce;
    const operations = [...(begun ? [] : [indexes]), ...changes.slice(0, maxClaimsAtOnce)];
    const result: Progress = isLast ? { outcome: { generation } } : { generation, revision: found.head.revision };
    return { result, write: write(operations) };
  };
  return writer.update({ reads: [get(layout.indexes(kind))], decide });
}
