import type { ApiObject } from '@homeostat/controller-runtime/api';
import { inBounds } from '../../base/in-bounds.ts';
import { IndexValueError } from '../../index/index-value-error.ts';
import { valueList } from '../../index/entry.ts';
import type { Entry, IndexValue } from '../../index/entry.ts';
import { isBroken } from '../../index/broken-entry.ts';
import type { KindCache } from '../../index/kind-cache.ts';
import { nextTurn } from '../../turns/next-turn.ts';
import { runInTurns } from '../../turns/steps.ts';
import type { ValueKeeper } from '../kept/value-keeper.ts';
import { decodeSteps, severalStepsBytes } from '../object/decode-steps.ts';
import { decodeObject } from '../object/object-codec.ts';
import { readKind } from './read-kind.ts';
import type { ReadParts } from './read-kind.ts';
import type { KindReader } from './stored-entry.ts';

export interface CheckedReadParts extends Omit<ReadParts, 'kept'> {
  readonly keeper: ValueKeeper;
  /** Returns a random number from 0 to below 1. */
  readonly random: () => number;
  /** Called with the indexes whose values differed when they were computed a second time. */
  readonly onVarying: (indexes: readonly string[]) => void;
}

/** The maximum number of objects whose index values are computed again as a check. This takes 10 ms. */
const sampleSize = 1_000;

/**
 * The number of bytes of objects after which the check of index values ends, even if it has checked fewer than
 * {@link sampleSize} objects. To parse this many bytes takes 100 ms.
 */
const sampleBytes = 16 * 1024 * 1024;

/** The maximum numbers of objects and of bytes that are parsed in one turn of the event loop. */
const objectsPerTurn = 200;
const bytesPerTurn = 128 * 1024;

/**
 * Reads a kind with the index values that an earlier process has stored, and compares a random sample of them with
 * newly computed values. If they differ, all values are computed. If no stored values were used, and an index function
 * has no `definition`, the values of a sample are computed twice, to find a function that returns different values for
 * the same object.
 */
export async function readChecked(kind: KindReader, parts: CheckedReadParts): Promise<Entry[]> {
  const { keeper, kindNumber, onVarying } = parts;
  const { cache } = kind;
  const kept = keeper.read(cache, kindNumber);
  const entries = await readKind(kind, { ...parts, kept });
  const isComputed = kept === undefined || kept.used === 0;
  const sampled = { length: entries.length, entry: (at: number) => inBounds(entries[at]) };
  const varying = isComputed && !hasFunction(cache) ? [] : await varyingIndexes(cache, sampled, parts.random);
  if (varying.length > 0) onVarying(varying);
  if (varying.length === 0 || isComputed) {
    await keeper.finish(kindNumber);
    return entries;
  }
  await kept.drop(`the kept values differ from newly computed values in these indexes: ${varying.join(', ')}`);
  const computed = await readKind(kind, parts);
  await keeper.finish(kindNumber);
  return computed;
}

/**
 * Returns true when the function of an index has no `definition`. The server then stores no index values of the kind.
 */
function hasFunction({ indexes }: KindCache): boolean {
  return indexes.some(({ spec }) => spec.indexFunc.definition === undefined);
}

/**
 * Gives access to the entries of a kind by position. {@link varyingIndexes} reads entries at random positions, and
 * checks their index values.
 */
export interface SampledEntries {
  readonly length: number;
  readonly entry: (at: number) => Entry;
}

/**
 * Computes the index values of a random sample of the entries again. Returns the indexes for which a computed value
 * differs from the value in the entry.
 */
export async function varyingIndexes(
  cache: KindCache,
  entries: SampledEntries,
  random: () => number,
): Promise<readonly string[]> {
  const varying = new Set<string>();
  let bytes = 0;
  let turnBytes = 0;
  await nextTurn('background');
  for (const [at, entry] of sampleOf(entries, random).entries()) {
    if (isBroken(entry)) continue;
    const object = await decode(entry);
    for (const index of differences(cache, entry, object)) varying.add(index);
    bytes += entry.size;
    turnBytes += entry.size;
    if (bytes >= sampleBytes) break;
    if (turnBytes < bytesPerTurn && (at + 1) % objectsPerTurn !== 0) continue;
    turnBytes = 0;
    await nextTurn('background');
  }
  return [...varying];
}

/** Returns all entries if they are few; otherwise random entries, of which some may occur twice. */
function sampleOf({ length, entry }: SampledEntries, random: () => number): readonly Entry[] {
  if (length <= sampleSize) return Array.from({ length }, (_, at) => entry(at));
  return Array.from({ length: sampleSize }, () => entry(Math.floor(random() * length)));
}

function decode({ bytes, size }: Entry): ApiObject | Promise<ApiObject> {
  return size > severalStepsBytes ? runInTurns(decodeSteps<ApiObject>(bytes)) : decodeObject(bytes);
}

function differences(cache: KindCache, entry: Entry, object: ApiObject): readonly string[] {
  return cache.indexes
    .filter((index) => {
      try {
        return !isSame(entry.values[index.position], index.compute(object));
      } catch (error) {
        if (error instanceof IndexValueError) return true;
        throw error;
      }
    })
    .map(({ spec }) => spec.name);
}

function isSame(a: IndexValue | undefined, b: IndexValue): boolean {
  const [known, computed] = [valueList(a), valueList(b)];
  return known.length === computed.length && known.every((value, at) => value === computed[at]);
}
