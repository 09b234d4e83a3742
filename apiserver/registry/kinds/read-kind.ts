import { isApiError } from '@homeostat/controller-runtime/api';
import type { Entry } from '../../index/entry.ts';
import { IndexValueError } from '../../index/index-value-error.ts';
import type { Row, Store } from '../../store/store.ts';
import { nextTurn } from '../../turns/next-turn.ts';
import { runInTurns } from '../../turns/steps.ts';
import type { KeptReader } from '../kept/kept-reader.ts';
import { severalStepsBytes } from '../object/decode-steps.ts';
import { DoesNotFit } from './does-not-fit.ts';
import type { LoadMemory } from './does-not-fit.ts';
import { fetchConversions } from './fetch-conversions.ts';
import { IndexBuildError } from './index-build.ts';
import { PendingConversion, whenConverted } from './pending-conversion.ts';
import { storedEntry, storedEntrySteps } from './stored-entry.ts';
import type { KindReader } from './stored-entry.ts';

export interface ReadParts {
  readonly store: Store;
  readonly kindNumber: number;
  readonly memory: Pick<LoadMemory, 'excess'>;
  /** Called after each page with the number of objects read so far. */
  readonly onProgress: (read: number) => void;
  /** Reads the objects' records, which an earlier process has stored; undefined when all objects have to be parsed. */
  readonly kept?: KeptReader | undefined;
}

/**
 * The maximum number of objects that are read and indexed in one turn of the event loop, and the maximum number of
 * their bytes. The bytes are limited because a page of definitions can have many megabytes.
 */
const objectsPerTurn = 200;
const bytesPerTurn = 128 * 1024;

/**
 * The numbers of bytes and of objects after which memory is measured again. A measurement takes up to 0.3 ms in a large
 * process.
 */
const measuredBytes = 4 * 1024 * 1024;
const measuredObjects = 2_000;

/**
 * Reads a kind's objects with their index values; returns a BrokenEntry for each object that cannot be read. Other
 * processes may write meanwhile: an object has the state at some moment of the read, and an object that is created or
 * deleted during the read may be included or not. Rejects with DoesNotFit when the objects do not fit into memory, and
 * with IndexBuildError when an index cannot read an object, or when an object cannot be converted from its stored
 * version.
 */
export async function readKind(
  kind: KindReader,
  { store, kindNumber, onProgress, memory, kept }: ReadParts,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  let unmeasured = { objects: 0, bytes: 0 };
  for await (const rows of store.scan(kindNumber)) {
    const place = { rows, at: 0 };
    let bytes = 0;
    for (const [at, row] of rows.entries()) {
      place.at = at;
      if (bytes > 0 && bytes + row.data.length > bytesPerTurn) {
        bytes = 0;
        await nextTurn('background');
      }
      if (kept?.isBefore(row.revision) === true) await kept.advance(row.revision);
      entries.push(kept?.entryOf(row) ?? (await entryOf(kind, row, place)));
      bytes += row.data.length;
      if (bytes < bytesPerTurn && entries.length % objectsPerTurn !== 0) continue;
      bytes = 0;
      await nextTurn('background');
    }
    onProgress(entries.length);
    unmeasured.objects += rows.length;
    unmeasured.bytes += rows.reduce((sum, { data }) => sum + data.length, 0);
    if (unmeasured.bytes >= measuredBytes || unmeasured.objects >= measuredObjects) {
      DoesNotFit.check(memory, entries.length);
      unmeasured = { objects: 0, bytes: 0 };
    }
    // Lets other code run, for example to report the progress. To await the next page is not enough, because the page
    // may already be in memory.
    await nextTurn('background');
  }
  return entries;
}

/** The position of a row in a page of rows that was read from the store. */
interface PlaceInPage {
  readonly rows: readonly Row[];
  readonly at: number;
}

/** The number of objects whose conversions are fetched together, usually with one call of the webhook. */
const convertedAtOnce = 100;

/** Fetches the conversion of a row together with the conversions of the next rows, and returns the entry of the row. */
async function fetchedEntry(kind: KindReader, row: Row, { rows, at }: PlaceInPage): Promise<Entry> {
  try {
    await fetchConversions(kind, rows.slice(at, at + convertedAtOnce));
    return await whenConverted(() => storedEntry(kind, row));
  } catch (error) {
    if (isApiError(error)) throw new IndexBuildError(error.message, { cause: error });
    throw error;
  }
}

function entryOf(kind: KindReader, row: Row, place: PlaceInPage): Entry | Promise<Entry> {
  if (row.data.length > severalStepsBytes) return largeEntry(kind, row, place);
  try {
    return storedEntry(kind, row);
  } catch (error) {
    return unreadEntry(error, row, { kind, place });
  }
}

async function largeEntry(kind: KindReader, row: Row, place: PlaceInPage): Promise<Entry> {
  try {
    return await runInTurns(storedEntrySteps(kind, row));
  } catch (error) {
    return unreadEntry(error, row, { kind, place });
  }
}

/**
 * Handles the error of a row that could not be read. If the row's conversion is missing, fetches it, and returns the
 * row's entry. Throws for any other error.
 */
function unreadEntry(
  error: unknown,
  row: Row,
  { kind, place }: { readonly kind: KindReader; readonly place: PlaceInPage },
): Promise<Entry> {
  if (error instanceof PendingConversion) return fetchedEntry(kind, row, place);
  // An object that cannot be converted has no index values, so another object could take a unique value of this object.
  // To prevent that, the read of the whole kind fails.
  if (isApiError(error)) throw new IndexBuildError(error.message, { cause: error });
  if (!(error instanceof IndexValueError)) throw error;
  const name = row.key.split('/').at(-1);
  const message = `index ${error.index} of ${kind.cache.descriptor.kind}: cannot index "${name}": ${error.message}`;
  throw new IndexBuildError(message, { cause: error });
}
